"""Servers that are programs: one message a line on stdin and stdout (U11)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import trio

from codex_adapter.spaces.mcp.errors import not_started
from codex_adapter.spaces.mcp.inquiry import tools_of
from codex_adapter.spaces.mcp.lines import Lines
from codex_adapter.spaces.mcp.messages import Asked, Replied, answer, heard, notification, request
from codex_adapter.workspace import Containment, WorkspaceError, open_program

__all__ = ["StdioChannel", "tools_by_stdio"]

_INHERITED: Final = ("LOGNAME", "USER", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ")
"""With HOME and PATH, which every program has: what the Codex CLI gives its servers of its own environment."""
_READ_SIZE: Final = 16_384
_GRACE: Final = 0.25


async def tools_by_stdio(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None, containment: Containment
) -> tuple[str, ...]:
    """As `tools_of`, for a program, of which nothing is left then, whatever happens (H8, U11)."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    try:
        async with open_program(argv, env=inherited | dict(env), cwd=cwd, containment=containment) as program:
            channel = StdioChannel(program.stdin, program.stdout)
            names = await tools_of(channel)
            await channel.leave()
            return names
    except WorkspaceError:
        raise not_started() from None


class StdioChannel:
    """A `Channel` by pipes."""

    def __init__(self, stdin: trio.abc.SendStream, stdout: trio.abc.ReceiveStream) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._number = 0
        self._lines = Lines()
        self._unread: deque[bytes] = deque()

    async def ask(self, method: str, params: Mapping[str, Any]) -> Replied:
        """As `Channel.ask`."""
        self._number += 1
        await self._send(request(self._number, method, params))
        while True:
            reply: Replied | None = None
            for message in heard(await self._line()):
                if isinstance(message, Asked):
                    # A server that does not read what it asks for has only its time limit before it.
                    await self._send(answer(message))
                elif message.number == self._number:
                    reply = message
            if reply is not None:
                return reply

    async def tell(self, method: str) -> None:
        """As `Channel.tell`."""
        await self._send(notification(method))

    def agree(self, revision: str) -> None:
        """As `Channel.agree`; no message depends on it here."""

    async def leave(self) -> None:
        """Hang up, upon which a server ends, and let it do so for a moment."""
        # Shielded, for what has been asked for is there, and the time limit is for that.
        with trio.CancelScope(shield=True), trio.move_on_after(_GRACE), suppress(trio.BrokenResourceError):
            await self._stdin.aclose()
            while await self._stdout.receive_some(_READ_SIZE):
                pass

    async def _send(self, message: bytes) -> None:
        # A server that has ended, or hears nothing any more, may have said all before.
        with suppress(trio.BrokenResourceError):
            await self._stdin.send_all(message + b"\n")

    async def _line(self) -> bytes:
        while not self._unread:
            try:
                data = await self._stdout.receive_some(_READ_SIZE)
            except trio.BrokenResourceError:
                data = b""
            if not data:
                raise not_started()
            self._unread.extend(self._lines.take(bytes(data)))
        return self._unread.popleft()
