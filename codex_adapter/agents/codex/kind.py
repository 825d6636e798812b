"""Define the agent kind for the wire and for texts."""

from __future__ import annotations

from typing import Final

__all__ = ["KIND"]

KIND: Final = "codex"
"""The agent kind of every event and error of the Codex CLI."""
