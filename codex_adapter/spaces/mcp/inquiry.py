"""What is said to a server to learn its tools, whichever way it goes (U11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Meta

from codex_adapter.spaces.mcp.errors import misunderstood
from codex_adapter.spaces.mcp.messages import METHOD_NOT_FOUND, Replied, decoded

__all__ = ["LONGEST_NAME", "MOST_PAGES", "MOST_TOOLS", "Channel", "tools_of"]

MOST_PAGES: Final = 100
MOST_TOOLS: Final = 10_000
LONGEST_NAME: Final = 256
"""Characters."""
_REVISION: Final = "2025-06-18"
_CLIENT: Final = {"name": "codex-adapter", "version": "0"}
_T = TypeVar("_T")


class Channel(Protocol):
    """A way to a server. All raise `ServerError`."""

    async def ask(self, method: str, params: Mapping[str, Any]) -> Replied:
        """Send a request and wait for its reply; what the server asks meanwhile is answered."""

    async def tell(self, method: str) -> None:
        """Send a notification."""

    def agree(self, revision: str) -> None:
        """The server speaks this revision of the protocol."""


class _Welcome(msgspec.Struct, rename="camel"):
    protocol_version: Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
    capabilities: dict[str, msgspec.Raw] = {}


class _Tool(msgspec.Struct):
    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]


class _Page(msgspec.Struct, rename="camel"):
    tools: list[_Tool]
    next_cursor: str | None = None


async def tools_of(channel: Channel) -> tuple[str, ...]:
    """The names of the server's tools, in its order, each once (U11). Raises `ServerError`."""
    capable = {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": _CLIENT}
    welcome = _result(await channel.ask("initialize", capable), _Welcome)
    # What it tells of its tools is the same in all revisions, so an older one will do, and a newer one as well.
    channel.agree(welcome.protocol_version)
    await channel.tell("notifications/initialized")
    names: list[str] = []
    params: dict[str, str] = {}
    for _ in range(MOST_PAGES):
        reply = await channel.ask("tools/list", params)
        if reply.refused == METHOD_NOT_FOUND and "tools" not in welcome.capabilities and not names:
            return ()
        page = _result(reply, _Page)
        names += (tool.name for tool in page.tools)
        if len(names) > MOST_TOOLS or not all(tool.name.isprintable() for tool in page.tools):
            break
        if not page.next_cursor:
            return tuple(dict.fromkeys(names))
        params = {"cursor": page.next_cursor}
    raise misunderstood()


def _result(reply: Replied, kind: type[_T]) -> _T:
    result = decoded(reply.result, kind) if reply.refused is None else None
    if result is None:
        raise misunderstood()
    return result
