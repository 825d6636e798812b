"""Define the configuration of the Codex CLI."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from codex_adapter.request import RunConfig

__all__ = ["CodexConfig"]

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class CodexConfig(RunConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration of the Codex CLI: the fields of `RunConfig`, and two of its own.

    `codex_home` sets `CODEX_HOME`; None inherits it. `settings` are settings of the CLI for every run: JSON values by
    dotted keys. The settings of a request override them. (Q7)
    """

    codex_home: str | None = None
    settings: Mapping[str, Any] = _EMPTY
