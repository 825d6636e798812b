"""Define the options of the Codex CLI: extension keys, their schemas, and command-line options (C6, Q3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.extensions import APPROVAL_POLICIES, SANDBOX_MODES
from codex_adapter.options import (
    DIRECTORIES_SCHEMA,
    SESSION_SCHEMA,
    Option,
    add_directories,
    concatenate,
    override,
    select_session,
)

__all__ = ["OPTIONS", "read_settings"]


def read_settings(entries: Sequence[str]) -> dict[str, Any]:
    """Parse settings of the CLI, each `KEY=VALUE`, into values by dotted keys, without a check of the keys (Q7).

    Raise ValueError for a malformed entry. The message quotes nothing of the entry.
    """
    settings: dict[str, Any] = {}
    for number, entry in enumerate(entries, 1):
        key, equals, text = entry.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ValueError(f"number {number} must have the form KEY=VALUE")
        if key in settings:
            raise ValueError(f"number {number} repeats a key; pass each key once")
        settings[key] = _toml_value(number, text.strip())
    return settings


def _toml_value(number: int, text: str) -> Any:
    """Return the value of a TOML text, or the text itself if it is not TOML, as the CLI does."""
    import tomllib  # noqa: PLC0415 - few command lines have settings

    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        document = {}
    if document.keys() == {"value"}:
        return document["value"]
    if document or text.startswith(("{", "[", '"', "'")):
        raise ValueError(f"the value of number {number} is not TOML; check its quotes and brackets")
    return text


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
        key=keys.SETTINGS,
        schema={"type": "object", "maxProperties": 64},
        field="settings",
        names=("-c", "--config"),
        metavar="KEY=VALUE",
        help="a setting of the Codex CLI; VALUE is TOML or plain text; repeatable",
        group="run",
        takes="words",
        convert=read_settings,
        merge=override,
    ),
    Option(
        field="binary",
        names=("--codex",),
        metavar="BINARY",
        help="the path of the Codex CLI (default: $CODEX_BINARY, the wheel, PATH)",
        group="run",
        place="program",
        variable="CODEX_BINARY",
    ),
    Option(
        field="codex_home",
        names=("--codex-home",),
        metavar="DIR",
        help="set CODEX_HOME (default: unchanged)",
        group="run",
        place="home",
        variable="CODEX_HOME",
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
        help="let the agent use the project's own settings, hooks and MCP servers (default: it does not)",
        flag=True,
    ),
    Option(
        key=keys.NON_INTERACTIVE,
        schema={"type": "boolean", "default": True},
        names=("--interactive",),
        help="let the agent ask for approval (default: it does not)",
        flag=False,
    ),
    Option(
        key=keys.APPROVAL_POLICY,
        schema={"enum": list(APPROVAL_POLICIES)},
        names=("--ask-for-approval",),
        metavar="POLICY",
        help=f"{', '.join(APPROVAL_POLICIES)}; needs --interactive",
    ),
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
        key=keys.IMAGES,
        schema={"type": "array", "items": {"type": "string"}},
        names=("--image",),
        metavar="FILE",
        help="an image for the prompt; repeatable",
        takes="words",
        merge=concatenate,
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
