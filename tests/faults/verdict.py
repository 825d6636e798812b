"""Check the outcome, the events and their times of a run against the model."""

from __future__ import annotations

from codex_adapter import BackendError, Completion, Event, RunCancelled, RunTimedOut
from codex_adapter.events import ToolCall

from ..agents.agent_lines import Shape
from .completion_model import END_OF_OUTPUT, EPSILON, LINGERING, Facts, Limits, facts_of
from .piped import Seen, Trace
from .schedules import Plan, failure_text

__all__ = ["Verdict", "closes"]


class Verdict:
    """Every check raises AssertionError where a rule was broken."""

    def __init__(self, plan: Plan, trace: Trace) -> None:
        self._plan = plan
        self._kind = plan.lines.kind
        self._broken = failure_text(plan.lines, "io")
        self._lost = failure_text(plan.lines, "wait")
        self._trace = trace
        self._given = trace.all("given")
        self._outcome: Completion | BackendError = self._given[0].detail
        self._data = b"".join(seen.detail for seen in trace.all("gave"))
        self._stop = self._first("stop")
        self._cancelled = self._first("cancelled")
        self._abandoned = self._first("raised", "scope cancelled")
        self._limits = Limits(plan)
        self._walk()

    def check(self) -> None:
        """All of it."""
        self.one_outcome_for_all()
        self.given_after_the_end()
        self.no_limit_missed_and_none_invented()
        self.a_true_outcome()
        self.the_events_of_the_lines()
        self.live_events_and_none_after_leaving()
        self.nothing_left()

    @property
    def summary(self) -> str:
        """What came of it, in few words, for statistics."""
        outcome = str(self._outcome) if isinstance(self._outcome, BackendError) else "completed"
        return f"{outcome}{', left to itself' if self._abandoned < NEVER else ''}"

    def one_outcome_for_all(self) -> None:
        """F5."""
        assert all(given.detail is self._outcome for given in self._given)

    def given_after_the_end(self) -> None:
        """F1: the agent has exited, nothing of it is left, and the consumer is done."""
        given = self._first("given")
        assert self._first("reaped", "lost") < given
        assert self._first("aclose") < given
        final = self._first("end", "left", "cancelled", "leaving", "raised", "scope cancelled", "over")
        assert final < given
        seen = self._trace.seen
        awaited = next(earlier.at for earlier in reversed(seen[:given]) if earlier.what == "awaited")
        latest = max(awaited, seen[self._first("aclose")].at, seen[final].at)
        assert seen[given].at <= latest + EPSILON, "the completion was late"

    def no_limit_missed_and_none_invented(self) -> None:
        """K1, K2, K6, F7, F8: each limit passes when it must, and no run is ended for nothing."""
        assert self._limits.missed == []
        if self._stop < min(self._cancelled, self._abandoned):
            assert self._reasons, "the run was ended for nothing"

    def a_true_outcome(self) -> None:
        """F2 to F6."""
        outcome = self._outcome
        if self._cancelled < self._first("given"):
            assert isinstance(outcome, RunCancelled)
            assert str(outcome) == "cancelled"
        elif isinstance(outcome, Completion):
            self._true_completion(outcome)
        else:
            allowed = self._reasons - {LINGERING}
            if self._abandoned < self._first("given") and isinstance(outcome, RunCancelled):
                allowed |= {"cancelled"}
            assert str(outcome) in allowed
            assert isinstance(outcome, RunTimedOut) is (
                str(outcome) not in (self._broken, self._lost, f"{self._kind} stream closed unexpectedly", "cancelled")
            )

    def _true_completion(self, outcome: Completion) -> None:
        assert not {self._lost, self._broken} & self._reasons
        stopped = self._stop < NEVER
        assert not stopped or LINGERING in self._reasons or self._abandoned < self._first("given")
        assert outcome.status == self._plan.status
        assert outcome.data is None
        assert any(self._tells(outcome, facts) for facts in self._possible(stopped=stopped))

    def _tells(self, outcome: Completion, facts: Facts) -> bool:
        texts = {facts.text} if outcome.status.success else {None}
        if LINGERING in self._reasons and facts.turn == "completed":
            # When the agent exits at the moment at which the grace ends, it may count as one that did or did not.
            tie = self._stop > min(self._cancelled, self._abandoned) or self._reasons != {LINGERING}
            texts = {facts.text} | (texts if tie or self._stop == NEVER else set())
        if (outcome.turn, outcome.session_id, outcome.usage) != (facts.turn, facts.session, facts.usage):
            return False
        return outcome.final_text in texts

    def the_events_of_the_lines(self) -> None:
        """D2, D4: a beginning of the events of the lines, in their order, each once; at the end all of them."""
        got: list[Event] = [seen.detail for seen in self._trace.all("got")]
        assert [event.seq for event in got] == list(range(len(got)))
        ended = self._first("end") < min(self._cancelled, self._first("left"))
        failed = isinstance(self._outcome, BackendError)
        told = got.pop().message if got and got[-1].data is None and got[-1].message in self._own_texts() else None
        if ended and not isinstance(self._outcome, RunCancelled):
            assert told == (str(self._outcome) if isinstance(self._outcome, BackendError) else self._non_zero())
        cut = failed or self._stop < NEVER
        if ended and not isinstance(self._outcome, RunCancelled):
            self._each_call_answered(got)
        got = [event for event in got if not closes(event)]
        shapes = [facts.shapes for facts in self._possible(stopped=cut)]
        assert any(len(got) <= len(lines) and all(map(_is, got, lines)) for lines in shapes)
        if self._plan.config.descendant_grace > 0:
            assert not any(seen.detail for seen in self._trace.all("close_output")), "output was left unread"
        if ended:
            least = len(self._lines_before_the_stop()) if cut else len(shapes[0])
            assert len(got) >= least, "events were lost"

    def _each_call_answered(self, got: list[Event]) -> None:
        """M9: no call without a result, and none closed that was not open."""
        still_open: set[str | None] = set()
        for event in got:
            if isinstance(event.data, ToolCall):
                item_id = event.data.tool.backend_item_id
                if event.kind == "tool_call":
                    still_open.add(item_id)
                else:
                    assert item_id in still_open or not closes(event), "a call was closed that was not open"
                    still_open.discard(item_id)
        assert not still_open, "a call is left without a result"

    def _own_texts(self) -> set[str]:
        return {text for text in (*self._reasons, self._non_zero()) if text is not None}

    def _non_zero(self) -> str | None:
        status = self._plan.status
        if status is None or status.success:
            return None
        text = f"exit status: {status.code}" if status.signal is None else "signal: 9 (SIGKILL)"
        return f"{self._kind} exited non-zero: {text} (stderr redacted)"

    def live_events_and_none_after_leaving(self) -> None:
        """D1, D3, K3: an event comes when its line was read or when it is asked for, and none once all is over."""
        over = self._first("cancelled", "left", "raised")
        read_at = [seen.at for seen, lines in self._lines_by_read() for _ in lines]
        asked, number = 0.0, 0
        for place, seen in enumerate(self._trace):
            if seen.what == "take":
                asked = seen.at
            elif seen.what == "got":
                assert place < over, "an event came after the end"
                if number < len(read_at) and place < self._stop:
                    assert seen.at <= max(asked, read_at[number]) + EPSILON, "an event was late"
                number += not closes(seen.detail)

    def nothing_left(self) -> None:
        """K4, K5: control comes back when the agent is gone and its outputs are closed."""
        assert [len(self._trace.all(what)) for what in ("aclose", "exit", "over")] == [1, 1, 1]
        assert len(self._trace.all("stop")) <= 1
        assert len(self._trace.all("came out")) == len(self._trace.all("raised"))
        for seen in self._trace.all("came out"):
            assert (seen.detail.args, seen.detail.__cause__, seen.detail.__context__) == (("mine",), None, None)
        assert self._first("exit") < self._first("aclose") < self._first("over")

    def _walk(self) -> None:
        """Tell the limits what happened, in run time, up to the moment at which the run began to be ended."""
        end = min(self._first("stop", "aclose"), self._cancelled, self._abandoned)
        waited = 0.0
        gave_at: float | None = None
        for seen in self._trace.seen[: end + 1]:
            if seen.what == "asked" and gave_at is not None:
                waited += seen.at - gave_at
                gave_at = None
            self._limits.see(seen, (seen.at if gave_at is None else gave_at) - waited)
            if seen.what == "gave":
                gave_at = seen.at
        self._reasons = self._limits.due - {END_OF_OUTPUT}
        self._reasons |= {
            text for what, text in (("broke", self._broken), ("lost", self._lost)) if self._trace.all(what)
        }

    def _possible(self, *, stopped: bool) -> list[Facts]:
        """What the bytes say; of a run that was ended, nobody knows whether its output ended too."""
        whole = facts_of(self._plan.lines, self._data, with_torn_line=True)
        return [whole, facts_of(self._plan.lines, self._data, with_torn_line=False)] if stopped else [whole]

    def _lines_by_read(self) -> list[tuple[Seen, list[Shape]]]:
        found: list[tuple[Seen, list[Shape]]] = []
        data = b""
        for seen in self._trace.all("gave"):
            before = len(facts_of(self._plan.lines, data, with_torn_line=False).shapes)
            data += seen.detail
            found.append((seen, facts_of(self._plan.lines, data, with_torn_line=False).shapes[before:]))
        return found

    def _lines_before_the_stop(self) -> list[Shape]:
        at = self._trace.seen[min(self._first("stop", "aclose"), len(self._trace.seen) - 1)].at
        return [line for seen, lines in self._lines_by_read() if seen.at < at - EPSILON for line in lines]

    def _first(self, *whats: str) -> int:
        place = self._trace.first(*whats)
        return NEVER if place is None else place


NEVER = 10**9


def closes(event: Event) -> bool:
    """Whether an event closes a call that the agent has left open."""
    return event.kind == "tool_result" and isinstance(event.data, ToolCall) and event.data.tool.status == "unknown"


def _is(event: Event, shape: Shape) -> bool:
    kind, text = shape
    told = event.text or event.message
    return event.kind == kind and (told == text or (kind == "error" and (told or "").startswith(text or "-")))
