"""Rewrite the CLAUDE_CONFIG_DIR of a conversation for each turn, except the CLI's own files (U9)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from typing_extensions import override

from codex_adapter.harness.conversation_home import ConversationHome, starts_with_line

__all__ = ["ClaudeHome"]

_KEPT: Final = ("projects", "todos", "tasks", "plans", "file-history")


class ClaudeHome(ConversationHome):
    """The CLAUDE_CONFIG_DIR below a conversation's directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "claude", _KEPT)

    @override
    def has(self, session: str) -> bool:
        """Implement `ConversationHome.has`, for any working directory."""
        found = (self.path / "projects").glob(f"*/{session}.jsonl")
        return any(path.is_file() and starts_with_line(path) for path in found)
