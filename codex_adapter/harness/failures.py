"""Describe why the run of a turn failed, without texts of the agent (U6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from codex_adapter import AdapterError, BackendError, Completion, RunCancelled
from codex_adapter.hints import ADVICE, Hint
from codex_adapter.turn_errors import AgentSpacesError, ErrorCode

__all__ = ["failure"]

_CODES: Final[Mapping[str, ErrorCode]] = {
    "model_unknown": "model_not_supported",
    "session_unknown": "harness_session_not_found",
}
_OF_ANY_AGENT: Final[frozenset[Hint]] = frozenset({"session_unknown", "answer_incomplete", "quota_exceeded"})
"""The hints for which the sentences of an agent name options of a run, such as a fork. A turn does not have them."""


def failure(outcome: Completion | AdapterError, agent: str) -> AgentSpacesError | None:
    """Return the error of an outcome, or None for a successful turn. It quotes nothing of the agent (U6, F9).

    `agent` is the agent's name for a person, with its article.
    """
    if isinstance(outcome, Completion):
        return _of_completion(outcome, agent)
    if not isinstance(outcome, BackendError):
        return AgentSpacesError(message=str(outcome), details={"kind": outcome.kind})
    return _error(_of_backend(outcome), outcome.hint, failure=outcome.failure)


def _of_completion(completion: Completion, agent: str) -> AgentSpacesError | None:
    hint, status = completion.hint, completion.status
    if completion.ok or (hint is None and completion.turn == "completed" and completion.final_text is not None):
        return None
    name = f"{agent[:1].upper()}{agent[1:]}"
    if completion.advice is not None:
        message = completion.advice
    elif completion.turn == "failed":
        message = f"The turn of {agent} failed for an unknown reason."
    elif completion.turn is None:
        message = f"{name} exited before a turn began."
    elif completion.turn == "completed":
        message = f"{name} failed after its turn had completed."
    else:
        message = f"{name} exited during its turn."
    return _error(message, hint, exitStatus=status.code, signal=status.signal)


def _of_backend(error: BackendError) -> str:
    if isinstance(error, RunCancelled):
        return "the turn was ended from outside"
    return error.advice or str(error)


def _error(message: str, hint: Hint | None, **details: Any) -> AgentSpacesError:
    if hint in _OF_ANY_AGENT:
        message = ADVICE[hint]
    code = None if hint is None else _CODES.get(hint)
    found = {name: value for name, value in {"hint": hint, **details}.items() if value is not None}
    return AgentSpacesError(message=message, code=code, details=found or None)
