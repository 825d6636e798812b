"""Define the extension keys of a request to pi for all other modules (Q3)."""

from __future__ import annotations

from typing import Final

__all__ = [
    "FORK",
    "IMAGES",
    "MODEL",
    "NON_INTERACTIVE",
    "PROVIDER",
    "RESUME",
    "SANDBOX_MODE",
    "SKILLS",
    "THINKING",
    "TOOLS",
    "TOOL_PAYLOADS",
    "TRUST_PROJECT",
    "WITHOUT_KEY",
]

FORK: Final = "agent_api.session.fork.v1"
MODEL: Final = "agent_api.config.model.v1"
NON_INTERACTIVE: Final = "agent_api.exec.non_interactive"
RESUME: Final = "agent_api.session.resume.v1"
IMAGES: Final = "backend.pi.images"
PROVIDER: Final = "backend.pi.provider"
SANDBOX_MODE: Final = "backend.pi.exec.sandbox_mode"
SKILLS: Final = "backend.pi.skills"
THINKING: Final = "backend.pi.thinking"
TOOLS: Final = "backend.pi.tools"
TOOL_PAYLOADS: Final = "backend.pi.tool_payloads"
TRUST_PROJECT: Final = "backend.pi.exec.trust_project"

WITHOUT_KEY: Final = frozenset(
    {
        "agent_api.run",
        "agent_api.events",
        "agent_api.events.live",
        "agent_api.control.cancel.v1",
        "agent_api.tools.structured.v1",
        "agent_api.session.handle.v1",
        "backend.pi.json_stream",
    }
)
"""The capabilities that need no extension key."""
