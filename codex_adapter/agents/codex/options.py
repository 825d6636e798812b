"""List the choices that the Codex CLI offers: extension keys, their schemas, and the options that set them (C6, Q3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.extensions import APPROVAL_POLICIES, SANDBOX_MODES
from codex_adapter.options import Option, concatenate, override

__all__ = ["OPTIONS", "read_settings"]

_SESSION: Final[Mapping[str, Any]] = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"selector": {"const": "last"}},
            "required": ["selector"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"selector": {"const": "id"}, "id": {"type": "string", "pattern": r"^(?!-)", "minLength": 1}},
            "required": ["selector", "id"],
            "additionalProperties": False,
        },
    ]
}
_DIRECTORIES: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"dirs": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 16}},
    "required": ["dirs"],
    "additionalProperties": False,
}


def read_settings(entries: Sequence[str]) -> dict[str, Any]:
    """Read settings of the CLI, each `KEY=VALUE`, by dotted keys; whether they may be passed is not checked (Q7).

    Raises ValueError, which repeats nothing of an entry.
    """
    settings: dict[str, Any] = {}
    for number, entry in enumerate(entries, 1):
        key, equals, text = entry.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ValueError(f"number {number} must be KEY=VALUE")
        if key in settings:
            raise ValueError(f"number {number} sets a key again; give each key once")
        settings[key] = _toml_value(number, text.strip())
    return settings


def _toml_value(number: int, text: str) -> Any:
    """Return the value of a TOML text, or the text itself where it is not TOML, as the CLI does."""
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


def _selector(session: str) -> dict[str, str]:
    return {"selector": "last"} if session == "last" else {"selector": "id", "id": session}


def _add_directories(requested: Any, chosen: Any) -> Any:
    merged = override(requested, chosen)
    if isinstance(requested, dict) and isinstance(chosen, dict):
        merged["dirs"] = concatenate(requested.get("dirs"), chosen.get("dirs"))
    return merged


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
        help="a setting of the Codex CLI, VALUE as TOML or plain text; repeatable",
        group="run",
        takes="words",
        convert=read_settings,
        merge=override,
    ),
    Option(
        field="binary",
        names=("--codex",),
        metavar="BINARY",
        help="the Codex CLI (default: $CODEX_BINARY, the wheel, PATH)",
        group="run",
        place="program",
        variable="CODEX_BINARY",
    ),
    Option(
        field="codex_home",
        names=("--codex-home",),
        metavar="DIR",
        help="sets CODEX_HOME (default: as it is)",
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
        help="let the agent use the project's own settings, hooks and MCP servers; without it, it never does",
        flag=True,
    ),
    Option(
        key=keys.NON_INTERACTIVE,
        schema={"type": "boolean", "default": True},
        names=("--interactive",),
        help="let the agent ask; without it, it never does",
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
        schema=_DIRECTORIES,
        names=("--add-dir",),
        metavar="DIR",
        help="one more directory to write in; repeatable",
        takes="words",
        convert=lambda directories: {"dirs": directories},
        merge=_add_directories,
    ),
    Option(
        key=keys.IMAGES,
        schema={"type": "array", "items": {"type": "string"}},
        names=("--image",),
        metavar="FILE",
        help="an image that belongs to the prompt; repeatable",
        takes="words",
        merge=concatenate,
    ),
    Option(
        key=keys.OUTPUT_SCHEMA,
        schema={"type": "object"},
        names=("--output-schema",),
        metavar="FILE",
        help="a JSON Schema that the last message must fit",
        takes="json_file",
    ),
    Option(
        key=keys.RESUME,
        schema=_SESSION,
        names=("--resume",),
        metavar="ID|last",
        help="go on with a session",
        convert=_selector,
    ),
    Option(
        key=keys.FORK,
        schema=_SESSION,
        names=("--fork",),
        metavar="ID",
        help="go on with a copy of a session",
        convert=_selector,
    ),
    Option(key=keys.TOOLS, schema={"enum": ["all", "none"]}),
    Option(
        key=keys.TOOL_PAYLOADS,
        schema={"enum": ["metadata", "full"], "default": "metadata"},
        field="tool_payloads",
        names=("--tool-payloads",),
        metavar="WHICH",
        help="metadata, or full: also what tools were given and gave",
        group="records",
    ),
)
"""Every extension key of the agent, and every option of the command line, in the order of its help."""
