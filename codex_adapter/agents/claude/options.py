"""Define the options of Claude Code: extension keys, their schemas, and command-line options (C6, Q3)."""

from __future__ import annotations

from typing import Final

from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.extensions import MOST_DOLLARS, MOST_TURNS, SANDBOX_MODES
from codex_adapter.options import DIRECTORIES_SCHEMA, SESSION_SCHEMA, Option, add_directories, select_session

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
    Option(
        key=keys.MODEL,
        schema={"type": "string", "minLength": 1},
        field="model",
        names=("--model",),
        metavar="ID",
        help="the model to use",
        group="run",
    ),
    Option(
        field="binary",
        names=("--claude",),
        metavar="BINARY",
        help="the path of Claude Code (default: $CLAUDE_BINARY, the wheel, PATH)",
        group="run",
        place="program",
        variable="CLAUDE_BINARY",
    ),
    Option(
        field="config_dir",
        names=("--claude-config-dir",),
        metavar="DIR",
        help="set CLAUDE_CONFIG_DIR (default: unchanged)",
        group="run",
        place="home",
        variable="CLAUDE_CONFIG_DIR",
    ),
    Option(
        key=keys.SANDBOX_MODE,
        schema={"enum": list(SANDBOX_MODES), "default": SANDBOX_MODES[1]},
        names=("--sandbox",),
        metavar="MODE",
        help=f"{', '.join(SANDBOX_MODES)} (default: {SANDBOX_MODES[1]})",
    ),
    Option(
        key=keys.TRUST_PROJECT,
        schema={"type": "boolean", "default": False},
        names=("--trust-project",),
        help="let the agent use the project's own CLAUDE.md, settings, hooks and MCP servers (default: it does not)",
        flag=True,
    ),
    Option(key=keys.NON_INTERACTIVE, schema={"type": "boolean", "default": True}),
    Option(
        key=keys.ADD_DIRS,
        schema=DIRECTORIES_SCHEMA,
        names=("--add-dir",),
        metavar="DIR",
        help="an additional directory that the agent may write to; repeatable",
        takes="words",
        convert=lambda directories: {"dirs": directories},
        merge=add_directories,
    ),
    Option(
        key=keys.OUTPUT_SCHEMA,
        schema={"type": "object"},
        names=("--output-schema",),
        metavar="FILE",
        help="a JSON Schema for the last message",
        takes="json_file",
    ),
    Option(
        key=keys.RESUME,
        schema=SESSION_SCHEMA,
        names=("--resume",),
        metavar="ID|last",
        help="continue a session",
        convert=select_session,
    ),
    Option(
        key=keys.FORK,
        schema=SESSION_SCHEMA,
        names=("--fork",),
        metavar="ID",
        help="continue a copy of a session",
        convert=select_session,
    ),
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
    Option(key=keys.TOOLS, schema={"enum": ["all", "none"]}),
    Option(
        key=keys.TOOL_PAYLOADS,
        schema={"enum": ["metadata", "full"], "default": "metadata"},
        field="tool_payloads",
        names=("--tool-payloads",),
        metavar="WHICH",
        help="metadata, or full: also the input and output of tools",
        group="records",
    ),
)
"""Every extension key of the agent, and every option of the command line, in the order of its help."""
