"""Restrict runs of the Codex CLI to prompts and answers, as operations and the mailbox need it (O18, I17)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from codex_adapter.agents.codex.kind import KIND
from codex_adapter.request import RunRequest

__all__ = ["RestrictedCodex"]

_RESTRICTIONS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "agent_api.exec.non_interactive": True,
        "backend.codex.exec.sandbox_mode": "read-only",
        "backend.codex.tools": "none",
    }
)
_SCHEMA: Final = "backend.codex.output_schema"
_RESUME: Final = "agent_api.session.resume.v1"


class RestrictedCodex:
    """The Codex CLI as a `PromptedAgent`."""

    kind: Final = KIND

    def restricted(self, request: RunRequest) -> RunRequest:
        """Return the request of a run that is read-only, never asks and has no tools."""
        return _extended(request, _RESTRICTIONS)

    def with_schema(self, request: RunRequest, schema: Mapping[str, Any]) -> RunRequest:
        """Return the request of a run whose last message is JSON of this schema."""
        return _extended(request, {_SCHEMA: schema})

    def resume(self, request: RunRequest, session_id: str) -> RunRequest:
        """Return the request of a run that continues a session."""
        return _extended(request, {_RESUME: {"selector": "id", "id": session_id}})


def _extended(request: RunRequest, extensions: Mapping[str, Any]) -> RunRequest:
    return replace(request, extensions={**request.extensions, **extensions})
