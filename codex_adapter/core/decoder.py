"""Define the decoder, which turns an agent's output into events and answers the agent (AG3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from codex_adapter.core.framing import Line
from codex_adapter.core.state import StreamState
from codex_adapter.errors import BackendError
from codex_adapter.events import Event, ExitStatus
from codex_adapter.hints import Hint

__all__ = ["Decoded", "Decoder"]


class Decoded(msgspec.Struct, frozen=True):
    """The events of some lines, before they are numbered, masked and bounded.

    `free_text` holds the strings that may contain a secret. The events are masked only if one of these strings may
    contain one. None means all strings of the events. `long` is False if every event is certainly within the bounds
    (B6).
    """

    events: list[Event]
    free_text: Sequence[str] | None = None
    long: bool = True


class Decoder(ABC):
    """The decoder of one run's output. It is pure: it does no I/O and reads no clock (AG3).

    Whatever an agent prints, no method raises. `state` holds what the stream has shown; the methods of the decoder
    update it.
    """

    def __init__(self, agent_kind: str) -> None:
        self.state = StreamState(agent_kind)

    @abstractmethod
    def decode(self, lines: Sequence[Line]) -> Decoded:
        """Return the events of lines of standard output. The last line of a stream may lack a newline (L3)."""

    def finish(self) -> Decoded:
        """Return the events for the end of standard output: by default, results for open tool calls (M9)."""
        return self.close_tools()

    def close_tools(self) -> Decoded:
        """Return results for the open tool calls of a run that the adapter ends (M9)."""
        return Decoded(self.state.close_tools())

    def receive_stderr(self, data: bytes) -> None:  # noqa: B027 - most agents print nothing relevant there
        """Receive bytes of standard error; empty bytes mark its end. No event shows them (S7, X1)."""

    def data_to_send(self) -> bytes:
        """Return the bytes to write to standard input now, and forget them."""
        return b""

    @property
    def input_open(self) -> bool:
        """Whether standard input stays open, because the agent may be sent something later."""
        return False

    def interrupt(self) -> bytes:
        """Return the bytes that ask the agent on standard input to end; empty if no such request exists (K4)."""
        return b""

    @property
    def session_missing(self) -> bool:
        """Whether the agent reported that the session to resume or fork does not exist (S9)."""
        return False

    @property
    def refusal(self) -> BackendError | None:
        """The error if the agent reported that it does not work as the request demands. It ends the run (AG3)."""
        return None

    @property
    def hint(self) -> Hint | None:
        """The cause that the agent's last error names. None if something other than an error followed it (F9)."""
        return None

    def exit_failed(self, status: ExitStatus) -> bool:
        """Return whether an exit with this status is a failure (F2)."""
        return not status.success

    def tokens_so_far(self) -> dict[str, int] | None:
        """Return the least tokens of the run until now, in a turn that has not completed. None is unknown (F15)."""
        return self.state.run_usage

    def cost_so_far(self) -> float | None:
        """Return the least cost of the run until now, in a turn that has not completed. None is unknown (F15)."""
        return self.state.cost_usd

    def explain(self, status: ExitStatus, *, lingered: bool) -> Hint | None:
        """Return why the run failed. Return None if it did not fail or the reason is unknown (F9).

        `lingered` is True if the adapter ended the agent because it stayed alive after a completed turn (K6).
        """
        return None
