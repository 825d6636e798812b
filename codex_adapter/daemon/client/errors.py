"""What a daemon says of failures, as the errors that the same failures raise in this process (J15)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

import msgspec
from msgspec import Raw

from codex_adapter.core.error_texts import NO_SESSION_FOUND, SESSION_NOT_FOUND
from codex_adapter.daemon.jsonrpc import RUN_REFUSED
from codex_adapter.errors import (
    DEFAULT_AGENT,
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
from codex_adapter.records import ErrorBody

__all__ = ["error_in_record", "gone", "misunderstood", "refused", "silent"]

_KINDS: Final[tuple[BackendKind, ...]] = get_args(BackendKind)
_BY_TEXT: Final[Mapping[str, BackendKind]] = {
    **{str(BackendError(kind)): kind for kind in _KINDS},
    SESSION_NOT_FOUND: "session",
    NO_SESSION_FOUND: "session",
}
_IDLE: Final = "codex stream idle timeout: "
_REFUSALS: Final[Mapping[str, type[AdapterError]]] = {
    error.kind: error for error in (InvalidRequestError, UnknownBackendError, InvalidAgentKindError)
}
_BUSY: Final = {
    "too_many_runs": "As many runs are live as may be; wait for one to end, or let runs wait: without --no-queue.",
    "shutting_down": "The daemon is shutting down; start another one.",
}


class _Told(msgspec.Struct, rename="camel"):
    kind: str = ""
    failure: str = "other"
    capability: str = ""
    not_found: bool = False
    hint: str | None = None
    advice: str | None = None


class _Error(msgspec.Struct):
    code: int
    message: str = ""
    data: Raw = Raw(b"{}")


def gone() -> BackendError:
    """For a daemon that has ended."""
    return BackendError("other", advice="The daemon has ended, or is none; its standard error says more.")


def misunderstood() -> BackendError:
    """For a daemon that answers as none of this release does."""
    advice = "The daemon and its client do not understand each other; use the same release of codex-adapter for both."
    return BackendError("other", advice=advice)


def silent(seconds: float) -> BackendError:
    """Return the error for a program that has not answered in time."""
    advice = f"The program did not answer within {seconds:g} s; start one that speaks as `codex-adapter serve` does."
    return BackendError("other", advice=advice)


def refused(answer: Raw) -> AdapterError:
    """Why a request was not carried out. Raises ValueError when it is not told as a daemon tells it."""
    error = msgspec.json.decode(answer, type=_Error)
    if error.code != RUN_REFUSED:
        return misunderstood()
    told = msgspec.json.decode(error.data, type=_Told)
    if told.kind in _REFUSALS:
        return _REFUSALS[told.kind](error.message)
    if told.kind == UnsupportedCapabilityError.kind:
        return UnsupportedCapabilityError(DEFAULT_AGENT, told.capability)
    if told.kind in _BUSY:
        return BackendError("other", advice=_BUSY[told.kind])
    if told.kind != BackendError.kind:
        return misunderstood()
    if told.failure == "spawn":
        return SpawnError(not_found=told.not_found, advice=told.advice, hint=_known(told.hint))
    kind: BackendKind = next((kind for kind in _KINDS if kind == told.failure), "other")
    return _backend_error(kind, error.message, told.hint, told.advice)


def error_in_record(body: ErrorBody) -> AdapterError:
    """Why a run came to no completion; what cannot be told by the canonical texts is `other`."""
    if body.kind in _REFUSALS:
        return _REFUSALS[body.kind](body.message)
    otherwise: BackendKind = "timeout" if body.message.startswith(_IDLE) else "other"
    kind = _BY_TEXT.get(body.message, otherwise)
    if kind == "spawn":
        return SpawnError(not_found=body.hint == "cli_not_found", advice=body.advice, hint=body.hint)
    return _backend_error(kind, body.message, body.hint, body.advice)


def _backend_error(kind: BackendKind, message: str, hint: str | None, advice: str | None) -> BackendError:
    error = {"cancelled": RunCancelled, "timeout": RunTimedOut}.get(kind, BackendError)
    own = None if message == str(BackendError(kind)) else message
    return error(kind, own, hint=_known(hint), advice=advice)


def _known(hint: str | None) -> Hint | None:
    return next((known for known in get_args(Hint) if known == hint), None)
