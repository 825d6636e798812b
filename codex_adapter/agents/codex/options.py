"""Define the options of the Codex CLI: extension keys, their schemas, and command-line options (C6, Q3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.extensions import APPROVAL_POLICIES, SANDBOX_MODES
from codex_adapter.options import (
    ADD_DIRS,
    FORK,
    MODEL,
    RESUME,
    Option,
    home,
    images,
    output_schema,
    override,
    program,
    sandbox_mode,
    tool_payloads,
    tools,
    trust_project,
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
    MODEL,
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
    program("the Codex CLI", "--codex", "CODEX_BINARY", wheel=True),
    home("codex_home", "--codex-home", "CODEX_HOME"),
    sandbox_mode(keys.SANDBOX_MODE, SANDBOX_MODES, SANDBOX_MODES[1]),
    trust_project(keys.TRUST_PROJECT, "the project's own settings, hooks and MCP servers"),
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
    ADD_DIRS,
    images(keys.IMAGES),
    output_schema(keys.OUTPUT_SCHEMA),
    RESUME,
    FORK,
    tools(keys.TOOLS),
    tool_payloads(keys.TOOL_PAYLOADS),
)
"""Every extension key of the agent, and every option of the command line, in the order of its help."""
