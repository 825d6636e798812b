"""The harnesses that this package has; each is known by its own folder alone (U5, U10)."""

from __future__ import annotations

from codex_adapter.agents.codex.harness import CodexHarness
from codex_adapter.harness import Harness

__all__ = ["CodexHarness", "default_harnesses"]


def default_harnesses() -> tuple[Harness, ...]:
    """One of each kind, as its user has set it up."""
    return (CodexHarness(),)
