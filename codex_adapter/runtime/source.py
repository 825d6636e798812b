"""Define the interface of a run's source: a process, a recorded file or a script in a test.

The rest of a run does not know which of them it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from codex_adapter.events import ExitStatus

__all__ = ["Source"]


class Source(Protocol):
    """The source of a run's output. Methods that fail raise `BackendError`."""

    async def serve(self) -> None:
        """Do the source's work besides reading. Return when it is done or cancelled."""

    async def receive_some(self) -> bytes:
        """Return the next bytes of standard output; empty at its end."""

    def close_output(self) -> None:
        """Stop reading: `receive_some` returns the end, also in a waiting call (F7)."""

    async def wait(self) -> ExitStatus:
        """Wait until the agent has exited. A cancelled wait changes nothing. It may be called again."""

    async def stop(self, request: bytes) -> None:
        """End the agent gracefully: by a request on standard input, unless it is empty or the input is closed, then by
        signals, then by SIGKILL. Return when the agent has exited, after a bounded time (K4)."""

    def kill(self) -> None:
        """End the agent and all that it started without asking first. A running `stop` finishes sooner."""

    async def aclose(self) -> None:
        """Release everything: no process of the run and no open descriptor is left. Safe under cancellation (K4)."""

    def send(self, data: bytes) -> None:
        """Queue these bytes for standard input, after all earlier bytes, and return at once.

        Raise `BackendError` (`io`) if the agent has left too many bytes unread.
        """

    def close_input(self) -> None:
        """Close standard input after all queued bytes are written."""

    def report_stderr(self, receive: Callable[[bytes], None]) -> None:
        """Pass all bytes of standard error to `receive`, and empty bytes at its end, before `aclose` returns (S7)."""
