"""Restrict runs of the Codex CLI to prompts and answers, as operations and the mailbox need it (O18, I17)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from codex_adapter.request import RunRequest

__all__ = ["restricted", "resume", "with_schema"]

_RESTRICTIONS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "agent_api.exec.non_interactive": True,
        "backend.codex.exec.sandbox_mode": "read-only",
        "backend.codex.tools": "none",
    }
)
_SCHEMA: Final = "backend.codex.output_schema"
_RESUME: Final = "agent_api.session.resume.v1"


def restricted(request: RunRequest) -> RunRequest:
    """Do what `Agent.restricted` does."""
    return _extended(request, _RESTRICTIONS)


def with_schema(request: RunRequest, schema: Mapping[str, Any]) -> RunRequest:
    """Do what `Agent.with_schema` does."""
    return _extended(request, {_SCHEMA: schema})


def resume(request: RunRequest, session_id: str) -> RunRequest:
    """Do what `Agent.resume` does."""
    return _extended(request, {_RESUME: {"selector": "id", "id": session_id}})


def _extended(request: RunRequest, extensions: Mapping[str, Any]) -> RunRequest:
    return replace(request, extensions={**request.extensions, **extensions})
