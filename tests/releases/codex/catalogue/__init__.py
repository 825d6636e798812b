"""Define the cases in which the real Codex CLI can run without an account, by name.

    case = CATALOGUE["shell_fail"]

A case is plain data. `tests.releases.codex.recorder` plays one with a CLI.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import commands, messages, patches, refusals, sessions, starts, streams, tools
from .case import FIRST_THREAD, Case, Run

__all__ = ["CATALOGUE", "FIRST_THREAD", "Case", "Run"]

_THEMES = (messages, commands, patches, tools, refusals, streams, starts, sessions)

CATALOGUE: Mapping[str, Case] = MappingProxyType({case.name: case for theme in _THEMES for case in theme.CASES})
"""The cases by name (TK4)."""
