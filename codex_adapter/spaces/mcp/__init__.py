"""List the tools of MCP servers by asking the servers (U11)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import trio

from codex_adapter.extras import how_to_install
from codex_adapter.spaces.environment import Server
from codex_adapter.spaces.mcp.protocol import NOT_STARTED, ServerError
from codex_adapter.spaces.mcp.stdio import list_tools_by_stdio
from codex_adapter.workspace import Containment

__all__ = ["ServerError", "list_all_tools", "list_tools"]

_AT_ONCE: Final = 64


async def list_tools(server: Server, *, seconds: float, containment: Containment | None = None) -> tuple[str, ...]:
    """Return the names of the server's tools, in the server's order, within `seconds`.

    A server with a command is started for this, and none of its processes is left afterwards. Pass the same
    `containment` to several calls: it stores which levels of containment work here. Raises `ServerError` (U11, H8).
    """
    with trio.move_on_after(seconds):
        if server.command is not None:
            argv = (server.command, *server.args)
            return await list_tools_by_stdio(
                argv, env=server.env, cwd=server.cwd, containment=containment or Containment()
            )
        if server.url is None:
            raise ServerError(NOT_STARTED)
        try:
            from codex_adapter.spaces.mcp.streamable_http import list_tools_by_http  # noqa: PLC0415 - an extra
        except ImportError:
            raise ServerError(f"Packages for servers with a URL are missing. {how_to_install('turns')}") from None
        return await list_tools_by_http(server.url)
    raise ServerError(f"The server did not answer in {seconds:g} seconds. Check what it waits for.")


async def list_all_tools(servers: Sequence[Server], *, seconds: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tools of all servers as `SERVER/TOOL`, and the names of the servers that did not answer.

    Both are in the order of `servers`. The whole call takes at most `seconds`. Up to 64 servers are asked at once, so a
    server that fails delays no other server (U11).
    """
    # The servers are programs of the user. Some, such as ssh, do not work in a user namespace.
    containment = Containment(strongest="guard")
    limiter = trio.CapacityLimiter(_AT_ONCE)
    answers: dict[int, tuple[str, ...]] = {}

    async def ask(number: int, server: Server) -> None:
        async with limiter:
            with suppress(ServerError):
                answers[number] = await list_tools(server, seconds=seconds, containment=containment)

    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            for number, server in enumerate(servers):
                nursery.start_soon(ask, number, server)
    tools = (f"{server.name}/{tool}" for number, server in enumerate(servers) for tool in answers.get(number, ()))
    return tuple(tools), tuple(server.name for number, server in enumerate(servers) if number not in answers)
