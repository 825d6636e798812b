"""Speak MCP with a server to list its tools, within bounds and over any transport (U11)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

__all__ = [
    "LONGEST_LINE",
    "LONGEST_NAME",
    "MISUNDERSTOOD",
    "MOST_BYTES",
    "MOST_LINES",
    "MOST_PAGES",
    "MOST_TOOLS",
    "NOT_STARTED",
    "UNREACHABLE",
    "LineSplitter",
    "Response",
    "ServerError",
    "ServerRequest",
    "Session",
    "build_answer",
    "read_messages",
]

LONGEST_LINE: Final = 4 * 1024 * 1024
MOST_BYTES: Final = 64 * 1024 * 1024
MOST_LINES: Final = 100_000
"""The limit of a server's whole output, notifications and log lines included."""
MOST_PAGES: Final = 100
MOST_TOOLS: Final = 10_000
LONGEST_NAME: Final = 256
"""Characters."""
_REVISION: Final = "2025-06-18"
_CLIENT: Final = {"name": "codex-adapter", "version": "0"}
_METHOD_NOT_FOUND: Final = -32601
_ABSENT: Final = msgspec.Raw()
_T = TypeVar("_T")

NOT_STARTED: Final = "The server cannot be started, or ends before it answers. Try its command in a shell."
UNREACHABLE: Final = "The server cannot be reached at its URL, or closes the connection. Check that it runs there."
MISUNDERSTOOD: Final = "The server does not answer like an MCP server. Check its command or URL."


class ServerError(Exception):
    """Report that a server's tools cannot be listed. The text never quotes the server (U11)."""


class LineSplitter:
    """Split a server's output at newlines, within bounds."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._bytes = 0
        self._lines = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that end in `data`, without newlines. Raises `ServerError` for too much output."""
        first, *others = data.split(b"\n")
        self._bytes += len(data)
        self._lines += len(others)
        too_many = self._bytes > MOST_BYTES or self._lines > MOST_LINES
        if too_many or len(self._begun) + len(first) > LONGEST_LINE:
            raise ServerError(MISUNDERSTOOD)
        self._begun += first
        if not others:
            return []
        lines = [bytes(self._begun), *others[:-1]]
        self._begun = bytearray(others[-1])
        return lines


class ServerRequest(NamedTuple):
    """A request from the server."""

    id: int | str
    method: str


class Response(NamedTuple):
    """The response to our request `number`; `error` is the code of a JSON-RPC error, None for a result."""

    number: int
    result: msgspec.Raw
    error: int | None = None


class _Message(msgspec.Struct):
    """Any message. Its members stay undecoded, because they may be long."""

    id: msgspec.Raw = _ABSENT
    method: msgspec.Raw = _ABSENT
    result: msgspec.Raw = _ABSENT
    error: msgspec.Raw = _ABSENT


class _Error(msgspec.Struct):
    code: int = 0


class _Welcome(msgspec.Struct, rename="camel"):
    protocol_version: Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
    capabilities: dict[str, msgspec.Raw] = {}


class _Tool(msgspec.Struct):
    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]


class _Page(msgspec.Struct, rename="camel"):
    tools: list[_Tool]
    next_cursor: str | None = None


Message: TypeAlias = ServerRequest | Response


class Session(ABC):
    """A session with a server over some transport. Every method raises `ServerError`."""

    def __init__(self) -> None:
        self.revision: str | None = None
        """The revision of MCP that the server speaks; None before its response to `initialize`."""
        self._number = 0

    async def list_tools(self) -> tuple[str, ...]:
        """Return the names of the server's tools, in its order, each once (U11)."""
        capable = {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": _CLIENT}
        welcome = _read_result(await self._request("initialize", capable), _Welcome)
        # The list of tools has the same format in all revisions, so older and newer revisions are accepted too.
        self.revision = welcome.protocol_version
        await self.notify(_encode(method="notifications/initialized"))
        names: list[str] = []
        params: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            response = await self._request("tools/list", params)
            if response.error == _METHOD_NOT_FOUND and "tools" not in welcome.capabilities and not names:
                return ()
            page = _read_result(response, _Page)
            names += (tool.name for tool in page.tools)
            if len(names) > MOST_TOOLS or not all(tool.name.isprintable() for tool in page.tools):
                break
            if not page.next_cursor:
                return tuple(dict.fromkeys(names))
            params = {"cursor": page.next_cursor}
        raise ServerError(MISUNDERSTOOD)

    @abstractmethod
    async def exchange(self, message: bytes, number: int) -> Response:
        """Send the request `number` and return its response; answer requests from the server meanwhile."""

    @abstractmethod
    async def notify(self, message: bytes) -> None:
        """Send a notification."""

    async def _request(self, method: str, params: Mapping[str, Any]) -> Response:
        self._number += 1
        message = _encode(id=self._number, method=method, params=params)
        return await self.exchange(message, self._number)


def build_answer(request: ServerRequest) -> bytes:
    """Return our response to a request from the server, on one line. A ping succeeds; all other requests fail (U11)."""
    if request.method == "ping":
        return _encode(id=request.id, result={})
    return _encode(id=request.id, error={"code": _METHOD_NOT_FOUND, "message": "This client only lists tools"})


def read_messages(text: bytes) -> Iterator[Message]:
    """Yield the requests and responses in a text. Skip notifications, and text that is not a message (U11)."""
    for one in _split_batch(text):
        message = _decode(one, _Message)
        if message is None:
            continue
        number = _decode(message.id, int)
        if message.method:
            id_ = number if number is not None else _decode(message.id, str)
            method = _decode(message.method, str)
            if id_ is not None and method is not None:
                yield ServerRequest(id_, method)
        elif number is not None and (message.result or message.error):
            yield Response(number, message.result, _read_error_code(message.error))


def _split_batch(text: bytes) -> Sequence[bytes | msgspec.Raw]:
    # Checking the first character excludes most other texts in a tenth of the time.
    match text.lstrip()[:1]:
        case b"{":
            return [text]
        case b"[":  # batches exist in revision 2025-03-26
            return _decode(text, list[msgspec.Raw]) or []
    return []


def _read_error_code(error: msgspec.Raw) -> int | None:
    if bytes(error) in (b"", b"null"):
        return None
    return (_decode(error, _Error) or _Error()).code


def _read_result(response: Response, kind: type[_T]) -> _T:
    result = _decode(response.result, kind) if response.error is None else None
    if result is None:
        raise ServerError(MISUNDERSTOOD)
    return result


def _encode(**members: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **members})


def _decode(text: bytes | msgspec.Raw, kind: type[_T]) -> _T | None:
    """Decode a text from a server. Return None for another type, because an exception could quote the text."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
