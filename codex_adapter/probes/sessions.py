"""Probe the sessions of any agent: the CLI continues the requested session and no other one."""

from __future__ import annotations

import json
from typing import Any

from codex_adapter import BackendError
from codex_adapter.core.extension_keys import FORK, RESUME
from codex_adapter.probes.probe import FIRST_SESSION, Evidence, Probe, Promise, Start
from codex_adapter.probes.turns import finished
from codex_adapter.testing.scenario import answer, script

__all__ = ["FIRST_PROMPT", "PROBES", "by_id", "continued_session"]

UNKNOWN = "01234567-89ab-7def-8123-456789abcdef"
FIRST_PROMPT = "Remember the word marzipan."
MODEL = script(fallback=answer("Done."))


def by_id(key: str, session: str) -> Start:
    """Return the run that resumes or forks a session."""
    return Start("Continue.", {key: {"selector": "id", "id": session}})


def continued_session(seen: Evidence) -> str | None:
    """Return None if the last run continued the session of the first one, else a description of the result."""
    trouble = finished(seen)
    if trouble is not None:
        return trouble
    if seen.last.session_id != seen.runs[0].session_id:
        return "another session was continued"
    return _history(seen)


def _other(seen: Evidence) -> str | None:
    trouble = finished(seen)
    if trouble is not None:
        return trouble
    if seen.last.session_id == seen.runs[0].session_id:
        return "the original session was continued"
    return _history(seen)


def _history(seen: Evidence) -> str | None:
    asked: list[dict[str, Any]] = list(seen.last.asked)
    return None if FIRST_PROMPT in json.dumps(asked) else "the model did not receive the history of the session"


def _not_found(seen: Evidence) -> str | None:
    outcome = seen.last.outcome
    return None if isinstance(outcome, BackendError) and outcome.failure == "session" else seen.last.describe()


PROBES = (
    Probe(
        "resume",
        MODEL,
        (Promise("S9", "a session is resumed by its id, and keeps this id", continued_session),),
        (Start(FIRST_PROMPT), by_id(RESUME, FIRST_SESSION)),
    ),
    Probe(
        "resume last",
        MODEL,
        (Promise("S9", "the last session is resumed", continued_session),),
        (Start(FIRST_PROMPT), Start("Continue.", {RESUME: {"selector": "last"}})),
    ),
    Probe(
        "resume unknown",
        MODEL,
        (Promise("S9", "a resume of a session that does not exist fails with the error for it", _not_found),),
        (by_id(RESUME, UNKNOWN),),
    ),
    Probe(
        "fork",
        MODEL,
        (Promise("S9", "a session is forked, and the fork has a new id", _other),),
        (Start(FIRST_PROMPT), by_id(FORK, FIRST_SESSION)),
    ),
)
"""The probes of sessions. They need the extension keys of sessions, which are the same for all agents."""
