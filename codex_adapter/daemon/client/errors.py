"""Convert the errors of a daemon to the errors that the same failures raise in this process (J15)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

import msgspec
from msgspec import Raw

from codex_adapter.daemon.jsonrpc import RUN_REFUSED
from codex_adapter.errors import (
    AdapterError,
    BackendError,
    BackendKind,
    InvalidAgentKindError,
    InvalidRequestError,
    RunCancelled,
    RunTimedOut,
    SpawnError,
    UnknownBackendError,
    UnsupportedCapabilityError,
)
from codex_adapter.hints import Hint
from codex_adapter.records import ErrorBody, FailedRecord

__all__ = ["daemon_exited_error", "error_of_record", "error_of_refusal", "no_answer_error", "protocol_error"]

_REFUSALS: Final[Mapping[str, type[AdapterError]]] = {
    error.kind: error for error in (InvalidRequestError, UnknownBackendError, InvalidAgentKindError)
}
_BUSY: Final = {
    "too_many_runs": "The limit of live runs is reached. Wait until one ends, or start the daemon without --no-queue.",
    "shutting_down": "The daemon is shutting down. Start another one.",
}


class _Error(msgspec.Struct):
    code: int
    message: str = ""
    data: Raw = Raw(b"{}")


class _Refusal(msgspec.Struct, rename="camel"):
    """The `data` of a refusal. Later releases may use other words. (J5)"""

    kind: str = ""
    failure: str | None = None
    capability: str = ""
    not_found: bool = False
    hint: str | None = None
    advice: str | None = None


def daemon_exited_error(agent_kind: str) -> BackendError:
    """Return the error for a daemon that has exited, or a program that is not a daemon."""
    return _other(
        agent_kind, "The daemon has exited, or the program is not a daemon. Its standard error can have more details."
    )


def protocol_error(agent_kind: str) -> BackendError:
    """Return the error for a daemon whose messages are not those of this release."""
    advice = "The daemon and its client do not use the same protocol. Use the same release of codex-adapter for both."
    return _other(agent_kind, advice)


def no_answer_error(agent_kind: str, seconds: float) -> BackendError:
    """Return the error for a program that has not answered within this number of seconds."""
    advice = (
        f"The program did not answer within {seconds:g} s. Start `codex-adapter serve`, or a program with its protocol."
    )
    return _other(agent_kind, advice)


def error_of_refusal(answer: Raw, agent_kind: str) -> AdapterError:
    """Return the error of a refused request. Raise ValueError if the JSON is not an error of JSON-RPC."""
    error = msgspec.json.decode(answer, type=_Error)
    if error.code != RUN_REFUSED:
        return protocol_error(agent_kind)
    refusal = msgspec.json.decode(error.data, type=_Refusal)
    if refusal.kind in _BUSY:
        return _other(agent_kind, _BUSY[refusal.kind])
    if refusal.kind == UnsupportedCapabilityError.kind:
        return UnsupportedCapabilityError(agent_kind, refusal.capability)
    if refusal.kind != BackendError.kind and refusal.kind not in _REFUSALS:
        return protocol_error(agent_kind)
    failure = next((known for known in get_args(BackendKind) if known == refusal.failure), None)
    hint = next((known for known in get_args(Hint) if known == refusal.hint), None)
    body = ErrorBody(refusal.kind, error.message, failure, hint, refusal.advice)
    return _error(body, agent_kind, not_found=refusal.not_found)


def error_of_record(record: FailedRecord, agent_kind: str) -> AdapterError:
    """Return the error in a completion record. Its failure is `other` if the record has none. (W2)"""
    error = _error(record.error, agent_kind, not_found=record.error.hint == "cli_not_found")
    if isinstance(error, BackendError):
        error.run_usage, error.cost_usd = record.run_usage, record.cost_usd
    return error


def _other(agent_kind: str, advice: str) -> BackendError:
    return BackendError("other", advice=advice).of_agent(agent_kind)


def _error(body: ErrorBody, agent_kind: str, *, not_found: bool) -> AdapterError:
    if body.kind in _REFUSALS:
        return _REFUSALS[body.kind](body.message)
    failure: BackendKind = body.failure or "other"
    if failure == "spawn":
        return SpawnError(not_found=not_found, advice=body.advice, hint=body.hint).of_agent(agent_kind)
    kind = {"cancelled": RunCancelled, "timeout": RunTimedOut}.get(failure, BackendError)
    error = kind(failure, advice=body.advice, hint=body.hint).of_agent(agent_kind)
    if str(error) != body.message:
        error = kind(failure, body.message, advice=body.advice, hint=body.hint).of_agent(agent_kind)
    return error
