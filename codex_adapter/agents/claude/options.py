"""Define the options of Claude Code: extension keys, their schemas, and command-line options (C6, Q3)."""

from __future__ import annotations

from typing import Final

from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.extensions import MOST_DOLLARS, MOST_TURNS, SANDBOX_MODES
from codex_adapter.options import (
    ADD_DIRS,
    FORK,
    MODEL,
    RESUME,
    Option,
    home,
    images,
    output_schema,
    program,
    sandbox_mode,
    tool_payloads,
    tools,
    trust_project,
)

__all__ = ["OPTIONS"]


def _whole_number(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ValueError("must be a whole number") from None


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError("must be a number of US dollars") from None


OPTIONS: Final[tuple[Option, ...]] = (
    MODEL,
    program("Claude Code", "--claude", "CLAUDE_BINARY", wheel=True),
    home("config_dir", "--claude-config-dir", "CLAUDE_CONFIG_DIR"),
    sandbox_mode(keys.SANDBOX_MODE, SANDBOX_MODES, SANDBOX_MODES[1]),
    trust_project(keys.TRUST_PROJECT, "the project's own CLAUDE.md, settings, hooks and MCP servers"),
    Option(key=keys.NON_INTERACTIVE, schema={"type": "boolean", "default": True}),
    ADD_DIRS,
    images(keys.IMAGES),
    output_schema(keys.OUTPUT_SCHEMA),
    RESUME,
    FORK,
    Option(
        key=keys.MAX_TURNS,
        schema={"type": "integer", "minimum": 1, "maximum": MOST_TURNS},
        names=("--max-turns",),
        metavar="N",
        help="end the run after this many answers of the model",
        convert=_whole_number,
    ),
    Option(
        key=keys.MAX_BUDGET,
        schema={"type": "number", "exclusiveMinimum": 0, "maximum": MOST_DOLLARS},
        names=("--max-budget-usd",),
        metavar="USD",
        help="end the run when the CLI estimates this cost",
        convert=_number,
    ),
    Option(
        key=keys.PARTIAL_MESSAGES,
        schema={"type": "boolean", "default": False},
        names=("--partial-messages",),
        help="show the parts of an answer as they arrive",
        flag=True,
    ),
    Option(
        key=keys.REQUIRE_SERVERS,
        schema={"type": "boolean", "default": False},
        names=("--require-mcp-servers",),
        help="fail if an MCP server does not start, instead of running without its tools",
        flag=True,
    ),
    tools(keys.TOOLS),
    tool_payloads(keys.TOOL_PAYLOADS),
)
"""Every extension key of the agent, and every option of the command line, in the order of its help."""
