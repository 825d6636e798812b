"""Rewrite the CODEX_HOME of a conversation for each turn, except the CLI's own files (U9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from typing_extensions import override

from codex_adapter.harness.conversation_home import ConversationHome, starts_with_line
from codex_adapter.own_directories import remove_tree
from codex_adapter.spaces import Skill

__all__ = ["CodexHome"]

_KEPT: Final = (
    *("sessions", "archived_sessions", "installation_id", "thread-writer-locks", "models_cache.json"),
    *("version.json", ".sandbox_migration", "*.sqlite*"),
)
_STATE: Final = "state_*.sqlite*"
_SQLITE: Final = b"SQLite format 3\0"
_PLACE: Final = "place"
_START: Final = "told"


class CodexHome(ConversationHome):
    """The CODEX_HOME below a conversation's directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "codex", _KEPT)

    @override
    def has(self, session: str) -> bool:
        """Implement `ConversationHome.has`."""
        found = (self.path / "sessions").rglob(f"rollout-*-{session}.jsonl")
        return any(path.is_file() and starts_with_line(path) for path in found)

    @override
    def furnish(self, files: Mapping[str, bytes], skills: Sequence[Skill], links: Sequence[Path] = ()) -> None:
        """Implement `ConversationHome.furnish`. Remove databases that the CLI cannot use."""
        self.path.mkdir(exist_ok=True, mode=0o700)
        self._settle()
        super().furnish(files, skills, links)

    def record_start(self, digest: str) -> None:
        """Record the digest of the instructions with which the conversation begins."""
        self.write_note(_START, digest)

    def start_digest(self) -> str | None:
        """Return the digest that `record_start` recorded, or None."""
        return self.note(_START)

    def _settle(self) -> None:
        """Remove databases that the CLI cannot use.

        The CLI cannot open a damaged database. In a home that was moved or copied, the database with the paths of
        sessions is wrong: the CLI would not find its sessions, or would write to those of the original home.
        """
        for database in list(self.path.glob("*.sqlite")):
            if not _is_database(database):
                for file in list(self.path.glob(f"{database.name}*")):
                    remove_tree(file)
        if self.note(_PLACE) == str(self.path):
            return
        for database in list(self.path.glob(_STATE)):
            remove_tree(database)
        self.write_note(_PLACE, str(self.path))


def _is_database(path: Path) -> bool:
    """Return whether a file is empty or begins with the header of a database."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) in (_SQLITE, b"")
