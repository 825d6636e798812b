"""Define the options of pi: extension keys, their schemas, and command-line options (C6, Q3)."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.extensions import SANDBOX_MODES, THINKING_LEVELS
from codex_adapter.options import (
    FORK,
    MODEL,
    RESUME,
    Option,
    home,
    images,
    program,
    sandbox_mode,
    tool_payloads,
    tools,
    trust_project,
)

__all__ = ["OPTIONS"]

OPTIONS: Final[tuple[Option, ...]] = (
    MODEL,
    program("pi", "--pi", "PI_BINARY", wheel=False),
    home("agent_dir", "--pi-agent-dir", "PI_CODING_AGENT_DIR"),
    Option(
        key=keys.PROVIDER,
        schema={"type": "string", "minLength": 1},
        names=("--provider",),
        metavar="NAME",
        help="the provider of the model, only with a model",
    ),
    Option(
        key=keys.THINKING,
        schema={"enum": list(THINKING_LEVELS)},
        names=("--thinking",),
        metavar="LEVEL",
        help=", ".join(THINKING_LEVELS),
    ),
    sandbox_mode(keys.SANDBOX_MODE, SANDBOX_MODES, SANDBOX_MODES[0], ": only tools that read files"),
    trust_project(keys.TRUST_PROJECT, "AGENTS.md, extensions, skills and the project's own .pi"),
    Option(key=keys.NON_INTERACTIVE, schema={"type": "boolean", "default": True}),
    images(keys.IMAGES),
    replace(RESUME, help="continue a session of this directory"),
    FORK,
    Option(key=keys.SKILLS, schema={"type": "string", "minLength": 1}),
    tools(keys.TOOLS),
    tool_payloads(keys.TOOL_PAYLOADS),
)
"""Every extension key of the agent, and every option of the command line, in the order of its help."""
