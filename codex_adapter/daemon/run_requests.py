"""The request of a run out of JSON, and what is answered to one that cannot be carried out (J3, J5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from codex_adapter import (
    AdapterError,
    BackendError,
    InvalidRequestError,
    RunRequest,
    SpawnError,
    UnsupportedCapabilityError,
)
from codex_adapter.daemon.jsonrpc import RUN_REFUSED, Fault

__all__ = ["read_request", "refused"]

_FIELDS: Final = frozenset(RunRequest.__struct_fields__)


def read_request(fields: Mapping[str, Any]) -> RunRequest:
    """A request of these fields, of which the run's own checks say what they must be. Raises `InvalidRequestError`."""
    if not fields.keys() <= _FIELDS:
        allowed = ", ".join(sorted(_FIELDS))
        raise InvalidRequestError(f"the request must be an object with none but the fields {allowed}")
    return RunRequest(**{"prompt": "", **fields})


def refused(error: AdapterError) -> Fault:
    """The answer in place of a run that this error has refused (J5)."""
    said: dict[str, str | bool | None] = {"kind": error.kind}
    if isinstance(error, BackendError):
        said |= {"failure": error.failure, "hint": error.hint, "advice": error.advice}
    if isinstance(error, SpawnError):
        said["notFound"] = error.not_found
    if isinstance(error, UnsupportedCapabilityError):
        said["capability"] = error.capability
    return Fault(RUN_REFUSED, str(error), {name: word for name, word in said.items() if word is not None})
