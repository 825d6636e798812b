"""Probe failures of any agent: refusals, failed requests, cancelled runs, processes left behind."""

from __future__ import annotations

from codex_adapter import Completion, RunCancelled
from codex_adapter.core.extension_keys import RESUME
from codex_adapter.events import TURN_FAILED, Retry
from codex_adapter.probes.probe import FIRST_SESSION, Evidence, Probe, Promise, Start
from codex_adapter.probes.sessions import FIRST_PROMPT, by_id, continued_session
from codex_adapter.probes.turns import finished
from codex_adapter.runtime.releases import Quirk
from codex_adapter.testing.scenario import Answer, Shell, answer, script

__all__ = ["ENDS", "RESUME_CANCELLED", "refused", "retried"]

PIPE = "begun"
BUSY = Shell(f"sh -c 'sleep 601' & (setsid sh -c 'sleep 602' &); echo begun > {PIPE}; sh -c 'sleep 603'")
"""A command with a child and a child in another session, which ends in ten minutes. Some CLIs refuse a bare `sleep`."""
LEFT = "left"
LEAVING = Shell(f"(setsid sh -c 'sleep 604' >/dev/null 2>&1 &); echo begun > {LEFT}")


def refused(status: int = 400) -> Probe:
    """Return the probe of a model server that refuses every request."""
    body = {"type": "error", "error": {"message": "no", "type": "invalid_request_error"}}
    return Probe(
        "refused",
        script(fallback=Answer(status=status, body=body)),
        (Promise("F3", "a turn that the model server refuses is reported as failed", _failed_turn),),
    )


def retried(only: tuple[Quirk, ...] = ()) -> Probe:
    """Return the probe of a request that fails once. Releases without `only` do not report the retry."""
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    return Probe(
        "retry",
        script(Answer(status=529, body=body), fallback=answer("after the retry")),
        (
            Promise("M8", "a request that fails once is repeated, and the turn continues", _continued),
            Promise("M12", "the retry of a request is reported", _retry, only=only),
        ),
        retries=3,
    )


def _failed_turn(seen: Evidence) -> str | None:
    outcome = seen.last.outcome
    reported = any(event.message == TURN_FAILED for event in seen.last.events)
    failed = isinstance(outcome, Completion) and outcome.turn == "failed" and not outcome.ok
    return None if reported and failed else seen.last.describe()


def _continued(seen: Evidence) -> str | None:
    return finished(seen) if seen.last.texts("agent_message")[-1:] == ["after the retry"] else seen.last.describe()


def _retry(seen: Evidence) -> str | None:
    reported = any(isinstance(event.data, Retry) for event in seen.last.events)
    return None if reported else f"no notice was reported; {seen.last.describe()}"


def _cancelled(seen: Evidence) -> str | None:
    first = seen.runs[0]
    cancelled = isinstance(first.outcome, RunCancelled)
    return None if cancelled else f"the command did not begin; {first.describe()}"


def _left(seen: Evidence) -> str | None:
    return None if seen.last.left == 0 else f"processes left: {seen.last.left}"


def _nothing_left_of_a_cancelled_run(seen: Evidence) -> str | None:
    return _left(seen) or _cancelled(seen)


def _nothing_left_of_a_finished_run(seen: Evidence) -> str | None:
    started = None if LEFT in seen.files else f"the command was not executed; {seen.last.describe()}"
    return _left(seen) or started or finished(seen)


def _resumed(seen: Evidence) -> str | None:
    return _cancelled(seen) or continued_session(seen)


ENDS = (
    Probe(
        "cancelled",
        script(BUSY, "never"),
        (
            Promise("K3", "a run is cancelled during a command", _cancelled),
            Promise("K4", "a cancelled run leaves no process behind", _nothing_left_of_a_cancelled_run),
        ),
        (Start(cancel_upon=PIPE),),
    ),
    Probe(
        "left behind",
        script(LEAVING, "Done."),
        (Promise("K4", "a completed run leaves no process behind", _nothing_left_of_a_finished_run),),
    ),
)
"""The ends of runs with descendants of their commands."""

RESUME_CANCELLED = Probe(
    "resume cancelled",
    script(BUSY, fallback=answer("Done.")),
    (Promise("S9", "the session of a cancelled run is resumed", _resumed),),
    (Start(FIRST_PROMPT, cancel_upon=PIPE), by_id(RESUME, FIRST_SESSION)),
)
