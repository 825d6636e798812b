"""Define the extension keys of a request to the Codex CLI for all other modules (Q3)."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ADD_DIRS",
    "APPROVAL_POLICY",
    "FORK",
    "IMAGES",
    "MODEL",
    "NON_INTERACTIVE",
    "OUTPUT_SCHEMA",
    "RESUME",
    "SANDBOX_MODE",
    "SETTINGS",
    "TOOLS",
    "TOOL_PAYLOADS",
    "TRUST_PROJECT",
    "WITHOUT_KEY",
]

ADD_DIRS: Final = "agent_api.exec.add_dirs.v1"
APPROVAL_POLICY: Final = "backend.codex.exec.approval_policy"
FORK: Final = "agent_api.session.fork.v1"
IMAGES: Final = "backend.codex.images"
MODEL: Final = "agent_api.config.model.v1"
NON_INTERACTIVE: Final = "agent_api.exec.non_interactive"
OUTPUT_SCHEMA: Final = "backend.codex.output_schema"
RESUME: Final = "agent_api.session.resume.v1"
SANDBOX_MODE: Final = "backend.codex.exec.sandbox_mode"
SETTINGS: Final = "backend.codex.settings"
TOOLS: Final = "backend.codex.tools"
TOOL_PAYLOADS: Final = "backend.codex.tool_payloads"
TRUST_PROJECT: Final = "backend.codex.exec.trust_project"

WITHOUT_KEY: Final = frozenset(
    {
        "agent_api.run",
        "agent_api.events",
        "agent_api.events.live",
        "agent_api.control.cancel.v1",
        "agent_api.tools.structured.v1",
        "agent_api.session.handle.v1",
        "backend.codex.exec_stream",
    }
)
"""The capabilities that need no extension key."""
