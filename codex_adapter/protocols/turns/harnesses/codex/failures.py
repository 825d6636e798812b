"""Why a run of the Codex CLI did not go well, in our words (U6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from codex_adapter import AdapterError, BackendError, Completion, RunCancelled, RunTimedOut, SpawnError
from codex_adapter.protocols.turns.wire import AgentSpacesError, ErrorCode

__all__ = ["SESSION_NOT_FOUND", "failure"]

SESSION_NOT_FOUND: Final = "the Codex CLI has no such session here; begin a new one, without harnessSessionId"
_SENTENCES: Final[Mapping[str, str]] = {
    "not_logged_in": "the Codex CLI has no login in a file here, or its key was refused; run `codex login`",
    "forbidden": "the service refuses this account, key or place; look what the account may do",
    "quota_exceeded": "the quota is used up or the plan does not cover it; look at plan and billing, or wait",
    "rate_limited": "there were too many requests; wait and try again",
    "overloaded": "the service or the model has no capacity; try again later, or another model",
    "server_error": "the service failed; try again later",
    "stream_cut": "the answer of the model was cut off; try again",
    "no_network": "the service cannot be reached; look at the network, the proxy and the model provider's address",
    "endpoint_unknown": "the model provider's address answers, but not to this; look at its base_url",
    "model_unknown": "there is no such model, or not for this account; choose another one",
    "context_too_long": "the conversation no longer fits into the model's context; begin a new one",
    "input_too_long": "the prompt is too long; shorten it, or attach it as a file",
    "policy_refused": "the service refused the prompt or the answer by its policy; word the prompt in another way",
    "answer_incomplete": "the model stopped before its answer was complete; ask for less at once",
    "request_rejected": "the service takes no such request; look at the model and its settings",
    "configuration_broken": "the Codex CLI does not take its settings; look at its config.toml and at the spaces",
    "flag_unknown": "this release of the Codex CLI does not take the command line; install a newer one",
    "mcp_server_failed": "an MCP server of the spaces did not start; try its command by itself",
    "not_a_git_repository": "the Codex CLI runs only inside a git repository; give such a cwd",
    "session_unknown": SESSION_NOT_FOUND,
}
"""One sentence for each hint (F9): what it means, and what to do."""
_CODES: Final[Mapping[str, ErrorCode]] = {
    "model_unknown": "model_not_supported",
    "session_unknown": "harness_session_not_found",
}


def failure(outcome: Completion | AdapterError) -> AgentSpacesError | None:
    """The error of an outcome, None for a turn that was completed (U6, F9). Nothing in it is the agent's."""
    if isinstance(outcome, Completion):
        return _of_completion(outcome)
    if not isinstance(outcome, BackendError):
        return AgentSpacesError(message=str(outcome), details={"kind": outcome.kind})
    hint: str | None = "session_unknown" if outcome.failure == "session" else outcome.hint
    message = _SENTENCES.get(hint) if hint is not None else None
    return _error(message or _of_backend(outcome), hint, failure=outcome.failure)


def _of_completion(completion: Completion) -> AgentSpacesError | None:
    well = completion.status.success and completion.turn == "completed"
    if well or (completion.turn == "completed" and completion.final_text is not None):
        return None
    hint, status = completion.hint, completion.status
    if hint is not None:
        message = _SENTENCES[hint]
    elif completion.turn == "failed":
        message = "the Codex CLI gave its turn up, and did not say why in words that are known"
    elif completion.turn is None:
        message = "the Codex CLI ended before a turn began"
    elif completion.turn == "completed":
        message = "the Codex CLI failed when its turn was over"
    else:
        message = "the Codex CLI ended within its turn"
    return _error(message, hint, exitStatus=status.code, signal=status.signal)


def _of_backend(error: BackendError) -> str:
    if isinstance(error, RunTimedOut):
        return "the turn took longer than it may"
    if isinstance(error, RunCancelled):
        return "the turn was ended from outside"
    advice = (error.advice or "").rstrip(".")
    if isinstance(error, SpawnError):
        return advice or "the Codex CLI cannot be started"
    return advice or str(error)


def _error(message: str, hint: str | None, **details: Any) -> AgentSpacesError:
    code = None if hint is None else _CODES.get(hint)
    told = {name: value for name, value in {"hint": hint, **details}.items() if value is not None}
    return AgentSpacesError(message=message, code=code, details=told or None)
