"""Define the errors of a turn, as an exception and as data on the wire (U6)."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

__all__ = ["AgentSpacesError", "ErrorCode", "TurnError"]

ErrorCode: TypeAlias = Literal["resolve_failed", "harness_session_not_found", "model_not_supported"]


class AgentSpacesError(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An error on the wire. Later versions may have other `details` (U6)."""

    message: str
    """The reason, for a person."""
    code: ErrorCode | None = None
    """The kind of the error, for a program."""
    details: dict[str, Any] | None = None
    """Further facts, which depend on the error."""


class TurnError(Exception):
    """Report that a turn cannot be run.

    Neither the message nor `details` quote an agent, a tool or a file (U6).
    """

    def __init__(self, message: str, code: ErrorCode | None = None, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.error = AgentSpacesError(message=message, code=code, details=details)
