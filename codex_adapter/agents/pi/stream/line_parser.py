"""Parse lines of pi into structs (T2, T4, T5, L4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from codex_adapter.agents.pi.kind import KIND
from codex_adapter.agents.pi.stream import lines as pl
from codex_adapter.core.line_parser import LineParser

__all__ = ["parse_lines"]


def _unknown(type_: str, _fields: Mapping[str, msgspec.Raw]) -> pl.Unknown:
    return pl.Unknown(type_)


_FIELDS: Final = frozenset({"type", "id", "message", "role", "content", "delta", "usage", "result"})
parse_lines: Final = LineParser[pl.Line](KIND, pl.Known, _unknown, _FIELDS).parse
