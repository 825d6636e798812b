"""Define the extension keys of a request to the Codex CLI for all other modules (Q3)."""

from __future__ import annotations

from typing import Final

from codex_adapter.core import extension_keys
from codex_adapter.core.extension_keys import ADD_DIRS, FORK, MODEL, NON_INTERACTIVE, RESUME

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

APPROVAL_POLICY: Final = "backend.codex.exec.approval_policy"
IMAGES: Final = "backend.codex.images"
OUTPUT_SCHEMA: Final = "backend.codex.output_schema"
SANDBOX_MODE: Final = "backend.codex.exec.sandbox_mode"
SETTINGS: Final = "backend.codex.settings"
TOOLS: Final = "backend.codex.tools"
TOOL_PAYLOADS: Final = "backend.codex.tool_payloads"
TRUST_PROJECT: Final = "backend.codex.exec.trust_project"

WITHOUT_KEY: Final = extension_keys.WITHOUT_KEY | {"backend.codex.exec_stream"}
"""The capabilities that need no extension key."""
