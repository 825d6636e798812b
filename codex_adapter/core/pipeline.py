"""Turn the bytes of an agent into bounded, redacted events: frame, decode, mask, bound, number.

Live runs, replays and tests all go through `Pipeline`; it needs no event loop and does no I/O.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, repeat
from typing import Any

from msgspec.structs import force_setattr

from codex_adapter.core.answers import is_answer
from codex_adapter.core.bounds import FINAL_TEXT_LIMIT, bound
from codex_adapter.core.decoder import Decoded, Decoder
from codex_adapter.core.framing import LineFramer
from codex_adapter.core.masking.masker import Masker, mask_event, texts_to_mask
from codex_adapter.core.state import StreamState
from codex_adapter.events import Completion, Event, ExitStatus
from codex_adapter.hints import NO_ADVICE, Hint

__all__ = ["Pipeline", "number_events"]


def number_events(events: list[Event], first: int) -> list[Event]:
    """Number the events from `first` on, in place, and return them. No other code numbers events (M0)."""
    # This loop runs in C, without an interpreter step for each event.
    deque(map(force_setattr, events, repeat("seq"), count(first)), maxlen=0)
    return events


class Pipeline:
    """The processing of one run's stream, from the bytes of standard output to universal events.

    `decoder` makes the decoder of the run. `secrets` are values to mask, besides everything shaped like a credential.
    `advice` has the agent's own sentences for hints. `answer_schema` is the JSON Schema of the last message, or None.
    Pass bytes as they arrive, in pieces of any size, then the end. The events do not depend on the pieces (L5, X5).
    """

    def __init__(
        self,
        decoder: Callable[[Masker], Decoder],
        *,
        secrets: Iterable[str] = (),
        max_line_bytes: int = 16 * 1024 * 1024,
        advice: Mapping[Hint, str] = NO_ADVICE,
        answer_schema: Mapping[str, Any] | None = None,
    ) -> None:
        self.advice = advice
        self._answer_schema = answer_schema
        self._framer = LineFramer(max_line_bytes)
        self._masker = Masker(secrets)
        self._decoder = decoder(self._masker)
        self._next_seq = 0

    @property
    def decoder(self) -> Decoder:
        """The decoder of the run."""
        return self._decoder

    @property
    def state(self) -> StreamState:
        """The data that the stream has shown so far."""
        return self._decoder.state

    @property
    def session_id(self) -> str | None:
        """The session's id, None until it is known (M5)."""
        return self._decoder.state.session_id

    @property
    def hint(self) -> Hint | None:
        """The cause that the agent's last error names. None if something other than an error followed it (F9)."""
        return self._decoder.hint

    @property
    def unfinished(self) -> int:
        """The number of buffered bytes of a line that has not ended yet."""
        return self._framer.held

    def receive_data(self, data: bytes) -> list[Event]:
        """Return the events of the lines that `data` completes."""
        return self._process(self._decoder.decode(self._framer.receive_data(data)))

    def receive_eof(self) -> list[Event]:
        """Return the events of an unfinished last line, then the events of the end itself (L3, M5, M9)."""
        events = self._process(self._decoder.decode(self._framer.receive_eof()))
        return events + self._process(self._decoder.finish())

    def close_tools(self) -> list[Event]:
        """Return results, without numbers, for the open tool calls before a run is ended (M9)."""
        return self._mask_and_bound(self._decoder.close_tools())

    @property
    def run_usage(self) -> dict[str, int] | None:
        """The tokens of the run, a lower bound if its last turn has not completed (F10, F15)."""
        if self.state.turn == "completed":
            return self.state.run_usage
        counted = self._decoder.tokens_so_far()
        return counted if counted and any(counted.values()) else None

    @property
    def cost_usd(self) -> float | None:
        """The cost of the run in US dollars, a lower bound if its last turn has not completed (F13, F15)."""
        return self.state.cost_usd if self.state.turn == "completed" else self._decoder.cost_so_far()

    def mask(self, text: str, limit: int) -> str:
        """Return a text about the run without its secrets, cut to `limit` bytes (X5, B3)."""
        return self._masker.mask_and_cut(text, limit)

    def completion(self, status: ExitStatus, *, lingered: bool = False) -> Completion:
        """Return the completion of a run whose agent ended with `status`.

        `lingered` means that the adapter ended the agent because it stayed alive after a completed turn. Any other
        failure has no final text (F2, F3, F14, K6).
        """
        state = self.state
        final_text = None
        succeeded = not self._decoder.exit_failed(status) or (lingered and state.turn == "completed")
        if succeeded and state.final_text is not None:
            final_text = self.mask(state.final_text, FINAL_TEXT_LIMIT)
        hint = self._decoder.explain(status, lingered=lingered)
        if hint is None and succeeded and state.turn == "completed" and self._answer_schema is not None:
            hint = None if is_answer(state.final_text, self._answer_schema) else "schema_ignored"
        return Completion(
            status=status,
            final_text=final_text,
            session_id=state.session_id,
            turn=state.turn,
            usage=state.usage,
            run_usage=self.run_usage,
            cost_usd=self.cost_usd,
            hint=hint,
            advice=None if hint is None else self.advice.get(hint),
        )

    def _process(self, decoded: Decoded) -> list[Event]:
        events = number_events(self._mask_and_bound(decoded), self._next_seq)
        self._next_seq += len(events)
        return events

    def _mask_and_bound(self, decoded: Decoded) -> list[Event]:
        """Mask the events, then bound them, so that no secret is cut in two (X5, B6)."""
        events, free_text = decoded.events, decoded.free_text
        if free_text is None:
            free_text = texts_to_mask(events)
        if free_text and self._masker.may_touch(free_text):
            events = [mask_event(event, self._masker) for event in events]
        return _bound_all(events) if decoded.long else events


def _bound_all(events: Sequence[Event]) -> list[Event]:
    bounded: list[Event] = []
    for event in events:
        bound(event, bounded)
    return bounded
