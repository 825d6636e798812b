"""Name the agent: the kind of Claude Code in requests, events and errors (G1)."""

from __future__ import annotations

from typing import Final

__all__ = ["KIND"]

KIND: Final = "claude_code"
