"""Name the agent: the kind of pi in requests, events and errors (G1)."""

from __future__ import annotations

from typing import Final

__all__ = ["KIND"]

KIND: Final = "pi"
