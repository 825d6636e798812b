"""Say where the Codex CLI keeps its settings and logins, and find the bubblewrap that comes with it (H13, H14, H15)."""

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
    """Return the places of the Codex CLI; `binary` is the one to look beside, by default the one of a run (S6)."""
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
