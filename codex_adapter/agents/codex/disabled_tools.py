"""Build the settings that disable the tools of a model, and list the MCP servers that they must name (Q3).

The list is the result of runs of the published binaries, as the table in `releases.py` is. The releases that can run
without tools know each setting. Other releases ignore a setting that they do not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from codex_adapter.agents.codex.command import MACHINE_SETTINGS, home_of_cli
from codex_adapter.core.checks import toml_string
from codex_adapter.errors import BackendError

__all__ = ["configured_servers", "settings_without_tools"]

_FILES: Final = ("config.toml", "managed_config.toml")
_FEATURES: Final = (
    # commands and files
    *("shell_tool", "unified_exec", "js_repl", "code_mode", "view_image"),
    # other agents, services and plugins
    *("multi_agent", "goals", "apps", "plugins", "tool_suggest", "image_generation", "browser_use", "computer_use"),
)
_SETTINGS: Final = (
    *(f"features.{name}=false" for name in _FEATURES),
    'web_search="disabled"',
    # instructions and settings of the working directory and its parents
    "project_doc_max_bytes=0",
    "project_root_markers=[]",
)


def settings_without_tools(servers: Sequence[str]) -> tuple[str, ...]:
    """Return the values of `--config` for a run without tools (Q3).

    `servers` are the names of the configured MCP servers. Each one must be disabled by name: an empty table disables
    none.
    """
    if not servers:
        return _SETTINGS
    entries = ", ".join(f"{toml_string(name)} = {{ enabled = false }}" for name in servers)
    return (*_SETTINGS, f"mcp_servers={{ {entries} }}")


def configured_servers(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the MCP servers that a run with this environment would start (Q3).

    Raise `BackendError` if the configuration cannot be read; the CLI would refuse it too.
    """
    home = home_of_cli(env)
    names: dict[str, None] = {}
    for directory in (MACHINE_SETTINGS, home):
        for file in _FILES if directory else ():
            names |= dict.fromkeys(_servers(Path(directory or "", file)))
    return tuple(names)


def _servers(file: Path) -> list[str]:
    import tomllib  # noqa: PLC0415 - only for a run without tools

    try:
        config = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError, RecursionError):
        advice = f"The {file.name} of the Codex CLI cannot be read. Correct it."
        raise BackendError("io", advice=advice) from None
    tables = [config, *_tables(config.get("profiles"))]
    return [name for table in tables for name in _names(table.get("mcp_servers"))]


def _tables(value: object) -> list[dict[str, object]]:
    return [table for table in value.values() if isinstance(table, dict)] if isinstance(value, dict) else []


def _names(value: object) -> list[str]:
    return list(value) if isinstance(value, dict) else []
