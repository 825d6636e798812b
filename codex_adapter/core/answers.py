"""Check whether the last message of a run is an answer for its output schema (F14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ["is_answer"]


def is_answer(text: str | None, schema: Mapping[str, Any]) -> bool:
    """Return whether a text is JSON, and an object if the schema has the type `object`. Check nothing else. (F14)"""
    try:
        value = msgspec.json.decode(text or "")
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return schema.get("type") != "object" or isinstance(value, dict)
