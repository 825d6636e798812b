"""Locate the settings and logins of the Codex CLI, and the bubblewrap in its package (H13, H14, H15)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from codex_adapter.agent_places import AgentPlaces
from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.errors import SpawnError

__all__ = ["codex_places"]


def codex_places(binary: str | None = None) -> AgentPlaces:
    """Return the places of the Codex CLI. `binary` is its program, by default that of a run. (S6)"""
    return AgentPlaces(
        settings=frozenset({".codex"}),
        logins=(".codex",),
        variables=("CODEX_HOME", "CODEX_SQLITE_HOME"),
        bubblewrap=partial(_bubblewrap, binary),
    )


def _bubblewrap(binary: str | None, environ: Mapping[str, str]) -> str | None:
    try:
        found = find_binary(CodexConfig(binary=binary), environ)
    except SpawnError:
        return None
    return str(Path(os.path.realpath(found.path)).parent.parent / "codex-resources" / "bwrap")
