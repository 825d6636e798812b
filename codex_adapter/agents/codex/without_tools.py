"""List the settings that take its tools from the model.

Established as the table in `releases.py` is, by running the published binaries: the releases that take a model's tools
away know every setting here, and those that do not know one ignore it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from codex_adapter.core.checks import toml_string

__all__ = ["settings_without_tools"]

_FEATURES: Final = (
    # commands and files
    *("shell_tool", "unified_exec", "js_repl", "code_mode", "view_image"),
    # other agents, services, and what is installed with a plugin
    *("multi_agent", "goals", "apps", "plugins", "tool_suggest", "image_generation", "browser_use", "computer_use"),
)
_SETTINGS: Final = (
    *(f"features.{name}=false" for name in _FEATURES),
    'web_search="disabled"',
    # instructions and settings of the directory that the run is in, and of those above it
    "project_doc_max_bytes=0",
    "project_root_markers=[]",
)


def settings_without_tools(servers: Sequence[str]) -> tuple[str, ...]:
    """Return the values of `--config` for a run without tools (Q3).

    `servers` are the names of the MCP servers that are configured: an empty table takes none of them away.
    """
    if not servers:
        return _SETTINGS
    entries = ", ".join(f"{toml_string(name)} = {{ enabled = false }}" for name in servers)
    return (*_SETTINGS, f"mcp_servers={{ {entries} }}")
