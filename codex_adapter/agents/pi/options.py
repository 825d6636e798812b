"""Define the options of pi: extension keys, their schemas, and command-line options (C6, Q3)."""

from __future__ import annotations

from typing import Final

from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.extensions import SANDBOX_MODES, THINKING_LEVELS
from codex_adapter.options import SESSION_SCHEMA, Option, concatenate, select_session

__all__ = ["OPTIONS"]

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
        names=("--pi",),
        metavar="BINARY",
        help="the path of pi (default: $PI_BINARY, PATH)",
        group="run",
        place="program",
        variable="PI_BINARY",
    ),
    Option(
        field="agent_dir",
        names=("--pi-agent-dir",),
        metavar="DIR",
        help="set PI_CODING_AGENT_DIR (default: unchanged)",
        group="run",
        place="home",
        variable="PI_CODING_AGENT_DIR",
    ),
    Option(
        key=keys.PROVIDER,
        schema={"type": "string", "minLength": 1},
        names=("--provider",),
        metavar="NAME",
        help="the provider of the model",
    ),
    Option(
        key=keys.THINKING,
        schema={"enum": list(THINKING_LEVELS)},
        names=("--thinking",),
        metavar="LEVEL",
        help=", ".join(THINKING_LEVELS),
    ),
    Option(
        key=keys.SANDBOX_MODE,
        schema={"enum": list(SANDBOX_MODES), "default": SANDBOX_MODES[0]},
        names=("--sandbox",),
        metavar="MODE",
        help=f"{', '.join(SANDBOX_MODES)} (default: {SANDBOX_MODES[0]}: only tools that read files)",
    ),
    Option(
        key=keys.TRUST_PROJECT,
        schema={"type": "boolean", "default": False},
        names=("--trust-project",),
        help="let the agent use AGENTS.md, extensions, skills and the project's own .pi (default: it does not)",
        flag=True,
    ),
    Option(key=keys.NON_INTERACTIVE, schema={"type": "boolean", "default": True}),
    Option(
        key=keys.IMAGES,
        schema={"type": "array", "items": {"type": "string"}},
        names=("--image",),
        metavar="FILE",
        help="an image for the prompt; repeatable",
        takes="words",
        merge=concatenate,
    ),
    Option(
        key=keys.RESUME,
        schema=SESSION_SCHEMA,
        names=("--resume",),
        metavar="ID|last",
        help="continue a session of this directory",
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
    Option(key=keys.SKILLS, schema={"type": "string", "minLength": 1}),
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
