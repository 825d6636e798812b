"""Define the extension keys of a request to Claude Code for all other modules (Q3)."""

from __future__ import annotations

from typing import Final

from codex_adapter.core import extension_keys
from codex_adapter.core.extension_keys import ADD_DIRS, FORK, MODEL, NON_INTERACTIVE, RESUME

__all__ = [
    "ADD_DIRS",
    "FORK",
    "IMAGES",
    "MAX_BUDGET",
    "MAX_TURNS",
    "MODEL",
    "NON_INTERACTIVE",
    "OUTPUT_SCHEMA",
    "PARTIAL_MESSAGES",
    "REQUIRE_SERVERS",
    "RESUME",
    "SANDBOX_MODE",
    "TOOLS",
    "TOOL_PAYLOADS",
    "TRUST_PROJECT",
    "WITHOUT_KEY",
]

IMAGES: Final = "backend.claude_code.images"
MAX_BUDGET: Final = "backend.claude_code.max_budget_usd"
MAX_TURNS: Final = "backend.claude_code.max_turns"
OUTPUT_SCHEMA: Final = "backend.claude_code.output_schema"
PARTIAL_MESSAGES: Final = "backend.claude_code.partial_messages"
REQUIRE_SERVERS: Final = "backend.claude_code.require_mcp_servers"
SANDBOX_MODE: Final = "backend.claude_code.exec.sandbox_mode"
TOOLS: Final = "backend.claude_code.tools"
TOOL_PAYLOADS: Final = "backend.claude_code.tool_payloads"
TRUST_PROJECT: Final = "backend.claude_code.exec.trust_project"

WITHOUT_KEY: Final = extension_keys.WITHOUT_KEY | {"backend.claude_code.print_stream"}
"""The capabilities that need no extension key."""
