"""Everything that the real Codex CLI can be driven through without an account, by name.

    case = CATALOGUE["shell_fail"]

A case is plain data; `codex_adapter.testing.recorder` plays one against a CLI.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import commands, failures, messages, patches, sessions, tools
from .case import FIRST_THREAD, Case, Run

__all__ = ["CATALOGUE", "FIRST_THREAD", "Case", "Run"]

_THEMES = (messages, commands, patches, tools, failures, sessions)

CATALOGUE: Mapping[str, Case] = MappingProxyType({case.name: case for theme in _THEMES for case in theme.CASES})
"""The cases by name (TK4)."""
