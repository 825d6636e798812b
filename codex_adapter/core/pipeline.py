"""Bytes of the agent -> bounded, redacted events: frame, parse, map, mask, bound. The only composition of the five.

Live runs, replays and tests all go through `Pipeline`; it needs no event loop and does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from codex_adapter.agents.codex.stream.decoder import Mapper
from codex_adapter.agents.codex.stream.line_parser import LineParser
from codex_adapter.agents.codex.stream.payloads import with_payloads
from codex_adapter.agents.codex.stream.tools import ToolItem
from codex_adapter.core.bounds import FINAL_TEXT_LIMIT, bound
from codex_adapter.core.framing import Line, LineFramer
from codex_adapter.core.masking.masker import Masker, mask_event
from codex_adapter.core.state import RunFacts
from codex_adapter.events import Completion, Event, ExitStatus, Tool, ToolCall
from codex_adapter.hints import Hint

__all__ = ["Pipeline"]

_NAMES: Final = 64
_LONGEST_NAME: Final = 1_024


class Pipeline:
    """One run's stream, from the bytes of its standard output to universal events (L, T, M, B, X).

    Give it bytes as they come, cut anywhere, then the end; the events do not depend on the cuts (L5). `facts` has what
    the stream has shown so far. `secrets` are values to mask, besides everything shaped like a credential (X5).
    `usage_before` are the tokens that the session had used before the run, None when nobody knows (F10).
    """

    def __init__(
        self,
        *,
        full_payloads: bool = False,
        secrets: tuple[str, ...] = (),
        max_line_bytes: int = 16 * 1024 * 1024,
        usage_before: Mapping[str, int] | None = None,
    ) -> None:
        self._framer = LineFramer(max_line_bytes)
        self._parser = LineParser(max_line_bytes)
        self._masker = Masker(secrets)
        self._mask_again = lru_cache(_NAMES)(self._masker.mask)
        self._mapper = Mapper(self._mask_name, self._payloads if full_payloads else None, usage_before)

    @property
    def facts(self) -> RunFacts:
        """What the stream has shown so far."""
        return self._mapper.facts

    @property
    def unfinished(self) -> int:
        """How many bytes of a line that has not ended yet are held."""
        return self._framer.held

    def receive_data(self, data: bytes) -> list[Event]:
        """The events of the lines that `data` completes."""
        return self._process(self._framer.receive_data(data))

    def receive_eof(self) -> list[Event]:
        """The events of an unfinished last line, and what the end itself gives (L3, M5, M9)."""
        events = self._process(self._framer.receive_eof())
        return [*events, *self._safe(self._mapper.finish())]

    def close_tools(self, seq: int) -> list[Event]:
        """Before a run is ended: the results, numbered from `seq`, of the tool calls that have none so far (M9)."""
        return self._safe(self._mapper.close_tools(seq))

    @property
    def session_id(self) -> str | None:
        """The session's id, None until it is known (M5)."""
        return self.facts.session_id

    @property
    def hint(self) -> Hint | None:
        """What the CLI's last error tells, None once anything has gone on since (F9)."""
        return self.facts.diagnosis.hint

    def mask(self, text: str, limit: int) -> str:
        """Return a text that concerns the run without its secrets, cut to `limit` bytes (X5, B3)."""
        return self._masker.mask_and_cut(text, limit)

    def completion(
        self, status: ExitStatus, stderr_hint: Hint | None = None, *, in_spite_of_status: bool = False
    ) -> Completion:
        """The completion of a run whose agent ended with `status` (F2).

        A failure has no final text (F3), but for an agent that was ended because it stayed alive after a completed turn
        (K6): that is `in_spite_of_status`. `stderr_hint` is what its stderr tells of a failure (F9).
        """
        facts = self.facts
        final_text = None
        counts = status.success or (in_spite_of_status and facts.turn == "completed")
        if counts and facts.final_text is not None:
            final_text = self.mask(facts.final_text, FINAL_TEXT_LIMIT)
        diagnosis = facts.diagnosis
        if in_spite_of_status:
            hint = diagnosis.hint_of_sandbox(stderr_hint)
        else:
            hint = diagnosis.explain(status, facts.turn, stderr_hint)
        return Completion(
            status=status,
            final_text=final_text,
            session_id=self.session_id,
            turn=facts.turn,
            usage=facts.usage,
            run_usage=facts.run_usage if facts.turn == "completed" else None,
            hint=hint,
        )

    def _process(self, lines: list[Line]) -> list[Event]:
        parsed = self._parser.parse(lines)
        self.facts.lines += len(parsed)
        events = self._mapper.map(parsed)
        if self.facts.diagnosis.noted:
            self.facts.diagnosis.go_on(events)
        return self._safe(events)

    def _safe(self, events: list[Event]) -> list[Event]:
        events = self._masked(events)
        return self._bounded(events) if self._mapper.long else events

    def _masked(self, events: list[Event]) -> list[Event]:
        """Masked before they are split, so that no secret is cut in two."""
        free_text = self._mapper.free_text
        if free_text and self._masker.may_touch(free_text):
            events = [mask_event(event, self._masker) for event in events]
        free_text.clear()
        return events

    def _bounded(self, events: list[Event]) -> list[Event]:
        """Each within its bounds or in pieces that are, and numbered anew (B6)."""
        bounded: list[Event] = []
        first = events[0].seq
        for event in events:
            bound(replace(event, seq=first + len(bounded)), bounded)
        self._mapper.long = False
        self._mapper.seq = first + len(bounded)
        return bounded

    def _mask_name(self, name: str) -> str:
        """Names and ids come again and again; one that is longer than any should be is not worth its memory."""
        return self._mask_again(name) if len(name) <= _LONGEST_NAME else self._masker.mask(name)

    def _payloads(self, tool: Tool, item: ToolItem) -> ToolCall:
        return with_payloads(tool, item, self._masker, self._mapper.free_text)
