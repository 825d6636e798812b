"""What a daemon says of failures, as the errors that the same failures raise in this process (J15)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, get_args

import msgspec

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
from codex_adapter.events import AGENT_KIND
from codex_adapter.protocols.supervisor.jsonrpc import Error
from codex_adapter.records import ErrorBody
from codex_adapter.request import RunRequest

__all__ = ["error_in_record", "gone", "refused", "request_on_the_wire"]

_KINDS: Final[tuple[BackendKind, ...]] = get_args(BackendKind)
_BY_TEXT: Final[Mapping[str, BackendKind]] = {str(BackendError(kind)): kind for kind in _KINDS}
_REFUSALS: Final[Mapping[str, type[AdapterError]]] = {
    error.kind: error for error in (InvalidRequestError, UnknownBackendError, InvalidAgentKindError)
}


def gone() -> BackendError:
    """For a daemon that has ended, or does not speak as one."""
    return BackendError("other", advice="The daemon has ended; its standard error says more.")


def refused(error: Error) -> AdapterError:
    """Why a run was not accepted."""
    told = error.data or {}
    kind, failure = told.get("kind"), told.get("failure")
    if kind in _REFUSALS:
        return _REFUSALS[str(kind)](error.message)
    if kind == UnsupportedCapabilityError.kind:
        return UnsupportedCapabilityError(AGENT_KIND, str(told.get("capability", "")))
    advice = None if "advice" not in told else str(told["advice"])
    if failure == "spawn":
        return SpawnError(not_found=told.get("notFound") is True, advice=advice)
    if failure in _KINDS:
        return _backend_error(failure, error.message, told.get("hint"), advice)
    return BackendError("other", advice=f"The daemon refused the run: {error.message}.")


def error_in_record(body: ErrorBody) -> AdapterError:
    """Why a run came to no completion; what cannot be told by the canonical texts is `other`."""
    if body.kind in _REFUSALS:
        return _REFUSALS[body.kind](body.message)
    kind = _BY_TEXT.get(body.message)
    if kind is None:
        idle = body.message.startswith("codex stream idle timeout: ")
        kind = "timeout" if idle else "session" if body.hint == "session_unknown" else "other"
    if kind == "spawn":
        return SpawnError(not_found=False)
    return _backend_error(kind, body.message, body.hint, None)


def request_on_the_wire(request: RunRequest) -> dict[str, Any]:
    """The fields of a request. Raises `InvalidRequestError` for what JSON cannot say."""
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    for name in ("env", "extensions"):
        if isinstance(fields[name], Mapping):
            fields[name] = dict(fields[name])
    if isinstance(request.timeout, float) and not math.isfinite(request.timeout):
        raise InvalidRequestError("timeout must be a finite number of seconds, zero or more, or absent")
    try:
        msgspec.json.encode(fields)
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        raise InvalidRequestError("the request must hold nothing but JSON values and text in UTF-8") from None
    return {name: value for name, value in fields.items() if value is not None}


def _backend_error(kind: Any, message: str, hint: Any, advice: str | None) -> BackendError:
    error = {"cancelled": RunCancelled, "timeout": RunTimedOut}.get(kind, BackendError)
    return error(kind, message, hint=hint, advice=advice)
