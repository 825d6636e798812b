"""Define the differences between two runs of one release of Claude Code that are not findings."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tests.releases.subject import Line, Variation

__all__ = ["VARIATIONS"]

_NUMBER = re.compile(rb"\b(?:msg|toolu)_[0-9_]+|\b00000000-0000-4000-8000-\d{12}\b")


def _without_totals(lines: list[Line]) -> list[Line]:
    return [{**line, "modelUsage": None, "total_cost_usd": None} if "modelUsage" in line else line for line in lines]


def _without_ends(lines: list[Line]) -> list[Line]:
    return [
        {**line, "message": {**line["message"], "stop_reason": None, "usage": None}}
        if line.get("type") == "assistant"
        else line
        for line in lines
    ]


def _any_order(lines: list[Line]) -> list[Line]:
    """Sort the lines, without the numbers that depend on the order of the requests."""
    texts = sorted(_NUMBER.sub(b"0", msgspec.json.encode(line)) for line in lines)
    return [msgspec.json.decode(text, type=dict[str, Any]) for text in texts]


VARIATIONS: tuple[Variation, ...] = (
    Variation("lines of tools and sub-agents at the same time arrive in any order", _any_order),
    Variation("the totals contain the CLI's own requests, or not yet", _without_totals),
    Variation("a message has its stop reason and final usage, or not yet", _without_ends),
)
