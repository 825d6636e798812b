"""The errors of a turn, as exceptions and as they are on the wire (U6)."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

__all__ = ["AgentSpacesError", "ErrorCode", "TurnError"]

ErrorCode: TypeAlias = Literal["resolve_failed", "harness_session_not_found", "model_not_supported"]


class AgentSpacesError(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What went wrong; `details` may be others tomorrow (U6)."""

    message: str
    code: ErrorCode | None = None
    details: dict[str, Any] | None = None


class TurnError(Exception):
    """A turn cannot be; the text is one sentence of ours, and so is all in `details` (U6)."""

    def __init__(self, message: str, code: ErrorCode | None = None, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.told = AgentSpacesError(message=message, code=code, details=details)
