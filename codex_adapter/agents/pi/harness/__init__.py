"""Run turns with pi (U9, U17, U18)."""

from __future__ import annotations

from codex_adapter.agents.pi.harness.harness import PiHarness

__all__ = ["PiHarness"]
