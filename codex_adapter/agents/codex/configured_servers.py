"""Find the MCP servers that the Codex CLI is configured with, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codex_adapter.agents.codex.command import MACHINE_SETTINGS, home_of_cli
from codex_adapter.errors import BackendError

__all__ = ["configured_servers"]

_FILES: Final = ("config.toml", "managed_config.toml")


def configured_servers(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the MCP servers that a run with this environment would start (Q3).

    Raises `BackendError` where the configuration cannot be read: the CLI would refuse it too.
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
