"""Define what a run reads from and writes to: a process, a recorded file or a script in a test.

Nothing else of a run knows which of them it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from codex_adapter.events import ExitStatus

__all__ = ["Source"]


class Source(Protocol):
    """What a run reads from. Methods that fail raise `BackendError`."""

    async def serve(self) -> None:
        """Do what the source has to do beside being read; returns when there is no more of it, or is cancelled."""

    async def receive_some(self) -> bytes:
        """The next bytes of standard output; empty at its end."""

    def close_output(self) -> None:
        """Read no more: `receive_some` gives the end, also to whoever waits in it (F7)."""

    async def wait(self) -> ExitStatus:
        """Wait until the agent has exited; cancelling the wait changes nothing. May be called again."""

    async def stop(self) -> None:
        """End the agent in order: ask, insist, kill (K4). Returns when it has exited; bounded in time."""

    def kill(self) -> None:
        """End the agent and all that it started without asking first; makes a `stop` under way hurry."""

    async def aclose(self) -> None:
        """Leave nothing: no process of the run, no open descriptor (K4). Safe to call under cancellation."""

    def send(self, data: bytes) -> None:
        """Write these bytes to standard input, behind all that was to be written before; do not wait for it.

        Raises `BackendError` (`io`) for an agent that has left too much of it unread.
        """

    def close_input(self) -> None:
        """Close standard input once all that was sent is written."""

    def report_stderr(self, receive: Callable[[bytes], None]) -> None:
        """Pass all bytes of standard error to `receive`, and empty ones at its end, before `aclose` returns (S7)."""
