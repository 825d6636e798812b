"""Probe failures: refusals, cut streams, cancelled runs, processes left behind."""

from __future__ import annotations

from codex_adapter import Completion, RunCancelled
from codex_adapter.agents.codex.probes.probe import Evidence, Probe, Promise, Start
from codex_adapter.agents.codex.probes.turns import finished
from codex_adapter.events import TURN_FAILED, ErrorSource
from codex_adapter.testing.scenario import Answer, Shell, answer, script

__all__ = ["PROBES"]

PIPE = "begun"
BUSY = Shell(f"sleep 601 & (setsid sleep 602 &); echo begun > {PIPE}; sleep 603")
LEAVING = Shell("(setsid sleep 604 >/dev/null 2>&1 &); echo begun")
PROMPTLY = 4.0
"""Seconds within which a cancelled run must end. The CLI needs less than one second."""


def _failed_turn(seen: Evidence) -> str | None:
    outcome = seen.last.outcome
    reported = any(event.message == TURN_FAILED for event in seen.last.events)
    if reported and isinstance(outcome, Completion) and outcome.turn == "failed" and outcome.status.code:
        return None
    return seen.last.describe()


def _reconnected(seen: Evidence) -> str | None:
    if not any(isinstance(event.data, ErrorSource) and event.data.source == "event" for event in seen.last.events):
        return f"no notice was reported; {seen.last.describe()}"
    return finished(seen) if seen.last.texts("agent_message")[-1:] == ["after the cut"] else seen.last.describe()


def _cancelled(seen: Evidence) -> str | None:
    if not isinstance(seen.last.outcome, RunCancelled):
        return f"the command did not begin; {seen.last.describe()}"
    return None if seen.last.seconds < PROMPTLY else f"it took {seen.last.seconds:.1f} s"


def _nothing_left(seen: Evidence) -> str | None:
    return None if seen.last.left == 0 else f"processes left: {seen.last.left}"


def _nothing_left_of_a_finished_run(seen: Evidence) -> str | None:
    return _nothing_left(seen) or finished(seen)


PROBES = (
    Probe(
        "cancelled",
        script(BUSY, "never"),
        (
            Promise("K3", "a run is cancelled promptly during a command", _cancelled),
            Promise("K4", "a cancelled run leaves no process behind", _nothing_left),
        ),
        (Start(cancel_upon=PIPE),),
    ),
    Probe(
        "left behind",
        script(LEAVING, "Done."),
        (Promise("K4", "a completed run leaves no process behind", _nothing_left_of_a_finished_run),),
    ),
    Probe(
        "refused",
        script(fallback=Answer(status=400, body={"error": {"message": "no", "type": "invalid_request_error"}})),
        (Promise("F3", "a turn that the model server refuses is reported as failed", _failed_turn),),
    ),
    Probe(
        "cut",
        script(answer("lost", cut_after=2), "after the cut"),
        (Promise("M8", "a cut stream is reported as a notice, and the turn continues", _reconnected),),
        retries=3,
    ),
)
