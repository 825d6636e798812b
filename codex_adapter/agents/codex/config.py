"""Define how the Codex CLI is run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from codex_adapter.request import RunConfig

__all__ = ["CodexConfig"]

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class CodexConfig(RunConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the Codex CLI is run: what `RunConfig` has, and what only this CLI has.

    `codex_home` sets `CODEX_HOME`; None inherits it. `settings` are settings of the CLI for every run, JSON values by
    dotted keys; a request's own win (Q7).
    """

    codex_home: str | None = None
    settings: Mapping[str, Any] = _EMPTY
