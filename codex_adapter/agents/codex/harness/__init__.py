"""Run turns with the Codex CLI (U9, U10)."""

from __future__ import annotations

from codex_adapter.agents.codex.harness.harness import CodexHarness

__all__ = ["CodexHarness"]
