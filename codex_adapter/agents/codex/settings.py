"""Check the settings of the Codex CLI that a caller passes for its runs, and write them as TOML (Q7).

The list names the settings that may be passed. New releases add settings that open the sandbox, start programs or keep
records, so an unknown setting must not reach the CLI.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NoReturn, TypeAlias

from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.core.checks import is_encodable, refuse, toml_string
from codex_adapter.errors import InvalidRequestError

__all__ = ["Scope", "check_settings", "setting_texts"]

Scope: TypeAlias = Literal["run", "no_tools", "turn"]
"""The use of the settings: any run, a run whose agent has no tools, or a turn."""

_MOST_SETTINGS: Final = 64
_MOST_BYTES: Final = 100_000
_DEEPEST: Final = 16
_BITS_OF_AN_INTEGER: Final = 63
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,15}")
# The name of a setting is safe to show. A key of another form could be a misplaced secret.
_NAME: Final = re.compile(r"[a-z]{1,16}(?:_[a-z]{1,16}){0,5}")

_ANSWERS: Final = (
    *("model_reasoning_effort", "plan_mode_reasoning_effort", "model_reasoning_summary", "model_verbosity"),
    *("model_supports_reasoning_summaries", "model_context_window", "model_max_output_tokens"),
    *("model_auto_compact_token_limit", "tool_output_token_limit", "hide_agent_reasoning", "show_raw_agent_reasoning"),
    *("personality", "service_tier", "developer_instructions", "compact_prompt"),
    *("analytics", "feedback", "disable_response_storage"),
)
_PROVIDERS: Final = ("model_provider", "model_providers", "openai_base_url", "chatgpt_base_url")
_FEATURES: Final = (
    *("shell_tool", "unified_exec", "view_image", "view_image_tool", "multi_agent", "goals", "image_generation"),
    *("web_search", "web_search_request", "web_search_cached", "apply_patch_freeform", "include_apply_patch_tool"),
    *("plan_tool", "memories", "fast_mode"),
)
_TOOLS: Final = (
    *("web_search", "tools.web_search", "tools.view_image", "mcp_servers", "allow_login_shell"),
    *("project_doc_max_bytes", "project_doc_fallback_filenames"),
    *(f"sandbox_workspace_write.{name}" for name in ("network_access", "exclude_slash_tmp", "exclude_tmpdir_env_var")),
    *(f"shell_environment_policy.{name}" for name in ("inherit", "ignore_default_excludes", "include_only")),
    *(f"features.{name}" for name in _FEATURES),
)
_PASSED: Final[Mapping[Scope, Sequence[str]]] = {
    "run": (*_ANSWERS, *_PROVIDERS, *_TOOLS),
    "no_tools": (*_ANSWERS, *_PROVIDERS),
    "turn": _ANSWERS,
}
_ALLOWED: Final[Mapping[Scope, frozenset[tuple[str, ...]]]] = {
    scope: frozenset(tuple(name.split(".")) for name in names) for scope, names in _PASSED.items()
}
"""The settings that may be passed, each including its nested keys."""

_INSTEAD_OF: Final = {
    "model": f"Use {keys.MODEL}",
    "sandbox_mode": f"Use {keys.SANDBOX_MODE}",
    "sandbox_workspace_write": f"Use {keys.SANDBOX_MODE} and {keys.ADD_DIRS}",
    "default_permissions": f"Use {keys.SANDBOX_MODE}",
    "permissions": f"Use {keys.SANDBOX_MODE}",
    "approval_policy": f"Use {keys.APPROVAL_POLICY}",
    "approvals_reviewer": f"Use {keys.APPROVAL_POLICY}",
    "projects": f"Use {keys.TRUST_PROJECT}",
    "profile": "Pass each setting of the profile separately",
    "profiles": "Pass each setting of the profile separately",
}
_IN_THE_FILE: Final = "Set it in the config.toml of the Codex CLI, in CODEX_HOME"
_OTHERWISE: Final[Mapping[Scope, str]] = {
    "run": _IN_THE_FILE,
    "no_tools": "Without tools, only settings of the model and its provider may be passed",
    "turn": "A turn accepts only settings of the model. Put permissions, hooks and servers into a space",
}


def check_settings(field: str, settings: Any, scope: Scope) -> tuple[str, ...]:
    """Return settings as values of `--config`, each `KEY=TOML`, in their order (Q7).

    `settings` are JSON values by dotted keys. Raise `InvalidRequestError` for a wrong setting. The message names
    `field`, and the key if it looks like the name of a setting, but never a value.
    """
    if not isinstance(settings, Mapping) or len(settings) > _MOST_SETTINGS:
        refuse(field, f"an object with at most {_MOST_SETTINGS} settings")
    return tuple(_checked(field, number, key, settings[key], scope) for number, key in enumerate(settings, 1))


def setting_texts(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each text in checked settings, with the last part of its key, because a text may be a credential (X5)."""
    for key, value in settings.items():
        for path, leaf in _leaves(tuple(key.split(".")), value):
            for text in leaf if isinstance(leaf, list | tuple) else (leaf,):
                if isinstance(text, str):
                    yield path[-1], text


def _checked(field: str, number: int, key: Any, value: Any, scope: Scope) -> str:
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        refuse(f"{field}: the key of number {number}", "names joined by dots, without quotes or white space")
    path = tuple(key.split("."))
    if not _is_toml(value, _DEEPEST):
        refuse(
            f"{field}: the value of number {number}", "a string, a number, true or false, or a list or table of these"
        )
    for leaf, _ in _leaves(path, value):
        if not any(leaf[:length] in _ALLOWED[scope] for length in range(1, len(leaf) + 1)):
            _refuse_setting(field, number, leaf, scope)
    written = f"{key}={_toml(value)}"
    if len(written) > _MOST_BYTES:
        refuse(f"{field}: number {number}", f"of at most {_MOST_BYTES} bytes as TOML")
    return written


def _refuse_setting(field: str, number: int, path: Sequence[str], scope: Scope) -> NoReturn:
    shown = path[0] if _NAME.fullmatch(path[0]) else f"number {number}"
    if len(path) > 1 and path[0] in ("sandbox_workspace_write", "shell_environment_policy", "features", "tools"):
        shown += f".{path[1]}" if _NAME.fullmatch(path[1]) else ""
    instead = _INSTEAD_OF.get(path[0]) if scope == "run" or path[0] == "model" else None
    raise InvalidRequestError(f"{field}: {shown} cannot be passed. {instead or _OTHERWISE[scope]}")


def _leaves(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each value that is not a table, and each empty table, with the names of its path."""
    if isinstance(value, Mapping) and value:
        for name, below in value.items():
            yield from _leaves((*path, name), below)
    else:
        yield path, value


def _is_toml(value: Any, depth: int) -> bool:
    if isinstance(value, str):
        return is_encodable(value)
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return value.bit_length() <= _BITS_OF_AN_INTEGER
    if isinstance(value, float):
        return math.isfinite(value)
    if depth and isinstance(value, Mapping):
        return all(
            isinstance(name, str) and is_encodable(name) and _is_toml(below, depth - 1) for name, below in value.items()
        )
    return bool(depth) and isinstance(value, list | tuple) and all(_is_toml(item, depth - 1) for item in value)


def _toml(value: Any) -> str:
    """Return a value as TOML in one line of ASCII."""
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{toml_string(name)}={_toml(below)}" for name, below in value.items()) + "}"
    return "[" + ",".join(map(_toml, value)) + "]"
