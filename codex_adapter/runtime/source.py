"""The one seam of a run: where standard output and an exit status come from.

A child process, a recorded file and a script in a test are all a `Source`; nothing else of a run knows which it is.
"""

from __future__ import annotations

from typing import Protocol

from codex_adapter.events import ExitStatus
from codex_adapter.hints import Hint

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

    @property
    def session_missing(self) -> bool:
        """Whether the agent said that the session it was to resume or fork does not exist (S9)."""

    @property
    def stderr_hint(self) -> Hint | None:
        """What the agent's stderr tells of why it failed, once the source is closed; None for nothing known (F9)."""
