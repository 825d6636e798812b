"""Define the decoder: an agent's output to events, and what the agent is answered (AG3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from codex_adapter.core.framing import Line
from codex_adapter.core.state import StreamState
from codex_adapter.events import Event, ExitStatus
from codex_adapter.hints import Hint

__all__ = ["Decoded", "Decoder"]


class Decoded(msgspec.Struct, frozen=True):
    """The events of some lines, not numbered, masked or bounded yet.

    `free_text` are the strings that may hold a secret: the events are masked only where one of them does. None stands
    for all strings of the events. `long` is False where every event is sure to keep to the bounds (B6).
    """

    events: list[Event]
    free_text: Sequence[str] | None = None
    long: bool = True


class Decoder(ABC):
    """Decode the output of one run. It is pure: it does no I/O and reads no clock (AG3).

    Nothing that an agent prints may raise. `state` is what the stream has shown; a decoder keeps it with its methods.
    """

    def __init__(self, agent_kind: str) -> None:
        self.state = StreamState(agent_kind)

    @abstractmethod
    def decode(self, lines: Sequence[Line]) -> Decoded:
        """Return the events of lines of standard output; the last of a stream may have no newline (L3)."""

    def finish(self) -> Decoded:
        """Return the events that the end of standard output gives: results for open tool calls, by default (M9)."""
        return self.close_tools()

    def close_tools(self) -> Decoded:
        """Return results for the open tool calls of a run that is being ended (M9)."""
        return Decoded(self.state.close_tools())

    def receive_stderr(self, data: bytes) -> None:  # noqa: B027 - most agents say nothing there that counts
        """Receive bytes of standard error; empty at its end. They are never shown (S7, X1)."""

    def data_to_send(self) -> bytes:
        """Return what is to be written to standard input now, and forget it."""
        return b""

    @property
    def input_open(self) -> bool:
        """Whether standard input stays open: the agent may be sent something later."""
        return False

    @property
    def session_missing(self) -> bool:
        """Whether the agent reported that the session it was to resume or fork does not exist (S9)."""
        return False

    @property
    def hint(self) -> Hint | None:
        """The cause that the agent's last error names, None when something followed that was not an error (F9)."""
        return None

    def exit_failed(self, status: ExitStatus) -> bool:
        """Return whether an exit with this status is a failure (F2)."""
        return not status.success

    def explain(self, status: ExitStatus, *, lingered: bool) -> Hint | None:
        """Return why the run failed, None for a run that did not, or of which nothing is known (F9).

        `lingered` is True for an agent that was ended because it stayed alive after a completed turn (K6).
        """
        return None
