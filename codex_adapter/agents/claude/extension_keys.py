"""Define the extension keys of a request to Claude Code for all other modules (Q3)."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ADD_DIRS",
    "FORK",
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

ADD_DIRS: Final = "agent_api.exec.add_dirs.v1"
FORK: Final = "agent_api.session.fork.v1"
MODEL: Final = "agent_api.config.model.v1"
NON_INTERACTIVE: Final = "agent_api.exec.non_interactive"
RESUME: Final = "agent_api.session.resume.v1"
MAX_BUDGET: Final = "backend.claude_code.max_budget_usd"
MAX_TURNS: Final = "backend.claude_code.max_turns"
OUTPUT_SCHEMA: Final = "backend.claude_code.output_schema"
PARTIAL_MESSAGES: Final = "backend.claude_code.partial_messages"
REQUIRE_SERVERS: Final = "backend.claude_code.require_mcp_servers"
SANDBOX_MODE: Final = "backend.claude_code.exec.sandbox_mode"
TOOLS: Final = "backend.claude_code.tools"
TOOL_PAYLOADS: Final = "backend.claude_code.tool_payloads"
TRUST_PROJECT: Final = "backend.claude_code.exec.trust_project"

WITHOUT_KEY: Final = frozenset(
    {
        "agent_api.run",
        "agent_api.events",
        "agent_api.events.live",
        "agent_api.control.cancel.v1",
        "agent_api.tools.structured.v1",
        "agent_api.session.handle.v1",
        "backend.claude_code.print_stream",
    }
)
"""The capabilities that need no extension key."""
