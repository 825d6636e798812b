"""List the tools of MCP servers that are programs, with one message per line on stdin and stdout (U11)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import trio
from typing_extensions import override

from codex_adapter.spaces.mcp.protocol import (
    NOT_STARTED,
    LineSplitter,
    Response,
    ServerError,
    ServerRequest,
    Session,
    build_answer,
    read_messages,
)
from codex_adapter.workspace import Containment, WorkspaceError, open_program

__all__ = ["StdioSession", "list_tools_by_stdio"]

_INHERITED: Final = ("LOGNAME", "USER", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ")
"""Variables of the adapter that a server gets besides HOME and PATH. Agents pass the same variables to servers."""
_READ_SIZE: Final = 16_384
_EXIT_GRACE: Final = 0.25
"""Seconds for a server to exit by itself."""


async def list_tools_by_stdio(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None, containment: Containment
) -> tuple[str, ...]:
    """Start a server and return the names of its tools. Leave no process of it. Raises `ServerError` (H8, U11)."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    try:
        async with open_program(argv, env=inherited | dict(env), cwd=cwd, containment=containment) as program:
            session = StdioSession(program.stdin, program.stdout)
            names = await session.list_tools()
            await session.close()
            return names
    except WorkspaceError:
        raise ServerError(NOT_STARTED) from None


class StdioSession(Session):
    """A session over two pipes."""

    def __init__(self, stdin: trio.abc.SendStream, stdout: trio.abc.ReceiveStream) -> None:
        super().__init__()
        self._stdin = stdin
        self._stdout = stdout
        self._lines = LineSplitter()
        self._unread: deque[bytes] = deque()

    @override
    async def exchange(self, message: bytes, number: int) -> Response:
        """Send a request and return its response."""
        await self.notify(message)
        while True:
            response: Response | None = None
            for received in read_messages(await self._read_line()):
                if isinstance(received, ServerRequest):
                    # If the server does not read the response, the time limit ends this.
                    await self.notify(build_answer(received))
                elif received.number == number:
                    response = received
            if response is not None:
                return response

    @override
    async def notify(self, message: bytes) -> None:
        """Send any message. Ignore a closed pipe: the server may have written its answer already."""
        with suppress(trio.BrokenResourceError):
            await self._stdin.send_all(message + b"\n")

    async def close(self) -> None:
        """Close the server's stdin, and wait a moment for its exit."""
        # Shielded, because the time limit is for the names, which are known by now.
        with trio.CancelScope(shield=True), trio.move_on_after(_EXIT_GRACE), suppress(trio.BrokenResourceError):
            await self._stdin.aclose()
            while await self._stdout.receive_some(_READ_SIZE):
                pass

    async def _read_line(self) -> bytes:
        while not self._unread:
            try:
                data = await self._stdout.receive_some(_READ_SIZE)
            except trio.BrokenResourceError:
                data = b""
            if not data:
                raise ServerError(NOT_STARTED)
            self._unread.extend(self._lines.feed(bytes(data)))
        return self._unread.popleft()
