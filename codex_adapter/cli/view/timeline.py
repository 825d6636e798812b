"""Build the timeline of a run from its records: turns, tool calls, texts, plan, tokens and ending (C10)."""

from __future__ import annotations

from collections.abc import Iterable

from codex_adapter.cli.present.folding import Repeats
from codex_adapter.cli.present.wording import describe_agent, describe_limit, describe_retry
from codex_adapter.cli.view.record_reader import PlacedRecord
from codex_adapter.cli.view.timeline_model import Call, Entry, Gap, Level, Note, Outcome, Span, Text, Turn, place_of
from codex_adapter.events import (
    TURN_FAILED,
    AgentInfo,
    Dropped,
    ErrorSource,
    Event,
    Plan,
    PlanItem,
    RateLimit,
    Retry,
    SessionHandle,
    TextPart,
    TokenUsage,
    ToolCall,
    UnknownLine,
)
from codex_adapter.records import CompletedRecord, FailedRecord, RunRecord
from codex_adapter.text import TextAssembler

__all__ = ["RunTimeline", "timelines"]


class RunTimeline:
    """The timeline of one run, from the records that were added so far.

    `before` are the entries before the first turn and between turns; `span` is the whole run. `asked` is the request of
    the run, None if the file has no request (J19).
    """

    def __init__(self, asked: RunRecord | None = None) -> None:
        self.asked = asked
        self.turns: list[Turn] = []
        self.before: list[Entry] = []
        self.plan: tuple[PlanItem, ...] = ()
        self.session_id: str | None = None
        self.ending: CompletedRecord | FailedRecord | None = None
        self.span = Span(0, None)
        self._turn: Turn | None = None
        self._in_team = False
        self._calls: dict[str, Call] = {}
        self._texts = TextAssembler()
        self._repeats: Repeats[Note] = Repeats()

    @property
    def entries(self) -> list[Entry]:
        """All entries, in order."""
        return sorted([*self.before, *(entry for turn in self.turns for entry in turn.entries)], key=place_of)

    @property
    def calls(self) -> list[Call]:
        """The tool calls, in the order of their start."""
        return [call for turn in self.turns for call in turn.calls]

    @property
    def timed(self) -> bool:
        """Whether the duration is known, to draw the run to scale."""
        return bool(self.span.seconds)

    def add(self, placed: PlacedRecord) -> None:
        """Add the next record of the run."""
        record, time = placed.record, placed.time
        if self.span.last is None:
            self.span.first = record.seq
        if self.span.began is None:
            self.span.began = time
        self.span.last = record.seq
        self.span.ended = time if time is not None else self.span.ended
        if placed.missing:
            self._append(Gap(record.seq, time, placed.missing))
        if isinstance(record, Event):
            self._event(record, time)
        else:
            self._end(record, time)

    def _entries(self) -> list[Entry]:
        return self.before if self._turn is None else self._turn.entries

    def _append(self, entry: Entry, turn: Turn | None = None) -> None:
        """Add an entry that is not a repeated note. After it, an earlier warning is new again."""
        self._repeats.interrupt()
        (self._entries() if turn is None else turn.entries).append(entry)

    def _event(self, event: Event, time: float | None) -> None:
        match event.data:
            case TextPart():
                text = self._texts.receive(event)
                if text is not None and text.seq == event.seq:
                    self._append(Text(event.seq, time, text), self._turn or self._open(event.seq, time))
            case ToolCall() as facet:
                self._call(facet, event.seq, time)
            case SessionHandle(session=session):
                self.session_id = session.id
            case Plan(items=items):
                self.plan = items
            case TokenUsage(usage=usage):
                self._close("completed", event.seq, time, usage)
            case Retry() as retry:
                self._note("warning", describe_retry(retry), event.seq, time)
            case RateLimit() as limit:
                if (described := describe_limit(limit)) is not None:
                    self._note("warning", described, event.seq, time)
            case AgentInfo() as info:
                self._note("notice", describe_agent(info), event.seq, time)
            case UnknownLine(type=name, item_type=item):
                self._note("notice", f"event of an unknown kind: {item or name or 'without a name'}", event.seq, time)
            case _:
                self._other(event, time)

    def _other(self, event: Event, time: float | None) -> None:
        if event.message is not None:
            ends = event.kind == "status" and event.message == TURN_FAILED
            level: Level = "error"
            if isinstance(event.data, ErrorSource):
                level = "warning"
            elif event.kind == "status" and not ends:
                level = "notice"
            self._note(level, event.message, event.seq, time)
            if ends:
                self._close("failed", event.seq, time)
        elif isinstance(event.data, Dropped):
            self._note("notice", "details were too large to keep", event.seq, time)
        elif event.kind == "status" and not self._in_team:
            # Without tokens, the end of a turn looks like the start of a turn.
            if self._turn is None or not self._turn.entries:
                self._open(event.seq, time)
            else:
                self._close("completed", event.seq, time)

    def _open(self, seq: int, time: float | None) -> Turn:
        if self._turn is None:
            self._turn = Turn(Span(seq, time))
            self.turns.append(self._turn)
        else:
            self._turn.span = Span(seq, time)
        return self._turn

    def _close(self, outcome: Outcome, seq: int, time: float | None, usage: dict[str, int] | None = None) -> None:
        turn = self._turn or self._open(seq, time)
        turn.outcome, turn.usage = outcome, usage
        turn.span.last, turn.span.ended = seq, time
        self._turn, self._in_team = None, False
        self._texts = TextAssembler()
        # A call without a result can still get one. The id of any other call can be reused.
        self._calls = {id_: call for id_, call in self._calls.items() if call.outcome == "unanswered"}

    def _call(self, facet: ToolCall, seq: int, time: float | None) -> None:
        tool = facet.tool
        ends = tool.phase in ("complete", "fail")
        call = None if tool.backend_item_id is None else self._calls.get(tool.backend_item_id)
        if call is None or call.outcome in ("completed", "failed"):
            call = Call(facet, facet, Span(seq, time), started=not ends)
            self._append(call, self._turn or self._open(seq, time))
            if tool.backend_item_id is not None:
                self._calls[tool.backend_item_id] = call
        self._in_team = self._in_team or tool.kind == "collab_tool_call"
        call.facet = facet
        if ends:
            call.span.last, call.span.ended = seq, time
            call.outcome = _outcome(facet)

    def _note(self, level: Level, text: str, seq: int, time: float | None) -> None:
        if level == "error":
            self._append(Note(seq, time, level, text))
            return
        known = self._repeats.find(text)
        if known is None:
            note = Note(seq, time, level, text)
            self._entries().append(note)
            self._repeats.add(text, note)
        else:
            known.times, known.last = known.times + 1, text

    def _end(self, record: CompletedRecord | FailedRecord, time: float | None) -> None:
        self.ending = record
        outcome = record.completion.turn if isinstance(record, CompletedRecord) else None
        if self._turn is not None:
            self._close(outcome or "cut_off", record.seq, time)
        ended = record.completion if isinstance(record, CompletedRecord) else record
        self.session_id = self.session_id or ended.session_id


def _outcome(facet: ToolCall) -> Outcome:
    match facet.tool.status:
        case "completed" | "failed" as status:
            return status
    return "unanswered"


def timelines(records: Iterable[PlacedRecord]) -> list[RunTimeline]:
    """Return the timelines of the runs in the records of one file, in order."""
    runs: list[RunTimeline] = []
    for placed in records:
        if placed.opens:
            runs.append(RunTimeline(placed.asked))
        runs[-1].add(placed)
    return runs
