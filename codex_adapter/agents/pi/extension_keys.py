"""Define the extension keys of a request to pi for all other modules (Q3)."""

from __future__ import annotations

from typing import Final

from codex_adapter.core import extension_keys
from codex_adapter.core.extension_keys import FORK, MODEL, NON_INTERACTIVE, RESUME

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

IMAGES: Final = "backend.pi.images"
PROVIDER: Final = "backend.pi.provider"
SANDBOX_MODE: Final = "backend.pi.exec.sandbox_mode"
SKILLS: Final = "backend.pi.skills"
THINKING: Final = "backend.pi.thinking"
TOOLS: Final = "backend.pi.tools"
TOOL_PAYLOADS: Final = "backend.pi.tool_payloads"
TRUST_PROJECT: Final = "backend.pi.exec.trust_project"

WITHOUT_KEY: Final = extension_keys.WITHOUT_KEY | {"backend.pi.json_stream"}
"""The capabilities that need no extension key."""
