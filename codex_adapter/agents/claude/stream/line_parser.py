"""Parse lines of Claude Code into structs (T2, T4, T5, L4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from codex_adapter.agents.claude.kind import KIND
from codex_adapter.agents.claude.stream import lines as cl
from codex_adapter.core.line_parser import LineParser, text_of

__all__ = ["parse_lines"]


def _unknown(type_: str, fields: Mapping[str, msgspec.Raw]) -> cl.Unknown:
    return cl.Unknown(type_, text_of(fields.get("subtype")))


_FIELDS: Final = frozenset(
    {"type"}.union(
        *(getattr(member, "__struct_fields__", ()) for member in vars(cl).values() if isinstance(member, type))
    )
)
parse_lines: Final = LineParser[cl.Line](KIND, cl.Known, _unknown, _FIELDS).parse
