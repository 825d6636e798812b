"""Run turns with Claude Code (U9, U10)."""

from __future__ import annotations

from codex_adapter.agents.claude.harness.harness import ClaudeHarness

__all__ = ["ClaudeHarness"]
