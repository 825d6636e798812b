"""Rewrite the CODEX_HOME of a conversation for each turn, except the CLI's own files (U9)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codex_adapter.agents.codex.harness.skills import copy_skill
from codex_adapter.durable import open_locked, remove_tree, write_new
from codex_adapter.safe_read import NotRegularError, read_regular
from codex_adapter.spaces import Skill
from codex_adapter.turn_errors import TurnError

__all__ = ["ConversationHome", "is_session"]

_SESSION: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_SKILLS: Final = "skills"
_LONGEST_LINE: Final = 16 * 1024 * 1024
_LONGEST_NOTE: Final = 64 * 1024
_KEPT: Final = frozenset(
    {"sessions", "archived_sessions", "installation_id", "thread-writer-locks", "models_cache.json"}
    | {"version.json", ".sandbox_migration"}
)
"""The CLI's own files. They and its databases are kept; all other files are of the last turn and are removed."""
_DATABASES: Final = "*.sqlite*"
_STATE: Final = "state_*.sqlite*"
_SQLITE: Final = b"SQLite format 3\0"


def is_session(key: str) -> bool:
    """Return whether a key has the form of the CLI's ids. With any other key, the CLI starts a new session."""
    return _SESSION.fullmatch(key) is not None


class ConversationHome:
    """The CODEX_HOME below a conversation's directory. Its methods block and raise OSError.

    A kill during `furnish` is harmless: no CLI has started yet, and the next turn removes the partial files.
    """

    def __init__(self, directory: Path) -> None:
        # The CLI trusts hooks by their path without links.
        root = Path(os.path.realpath(directory))
        self.path: Final = root / "codex"
        self.images: Final = root / "images"
        self._lock = root / "codex.lock"
        self._place = root / "codex.place"
        self._start = root / "codex.told"

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock the home for one turn. Raises `TurnError` while another turn has the lock."""
        try:
            fd = open_locked(self._lock)
        except BlockingIOError:
            raise TurnError("Another turn of this session is running. Wait until it has ended.") from None
        try:
            yield
        finally:
            os.close(fd)

    def has(self, session: str) -> bool:
        """Return whether the CLI has this session here with a complete first line, which a resume needs."""
        found = (self.path / "sessions").rglob(f"rollout-*-{session}.jsonl")
        return any(path.is_file() and _is_begun(path) for path in found)

    def furnish(self, files: Mapping[str, bytes], skills: Sequence[Skill], links: Sequence[Path]) -> None:
        """Write files, skills and links. Remove the files of earlier turns, except the CLI's own files. (U9)

        `files` are contents by names; `links` are the targets of links with the same names.
        """
        self.path.mkdir(exist_ok=True, mode=0o700)
        self._settle()
        for entry in list(self.path.iterdir()):
            if not _is_kept(entry):
                remove_tree(entry)
        for name, content in files.items():
            _write(self.path / name, content)
        for link in links:
            (self.path / link.name).symlink_to(link)
        if skills:
            (self.path / _SKILLS).mkdir(mode=0o700)
        for skill in skills:
            copy_skill(skill, self.path / _SKILLS)

    def record_start(self, digest: str) -> None:
        """Record the digest of the instructions with which the conversation begins."""
        _write(self._start, digest.encode())

    def start_digest(self) -> str | None:
        """Return the digest that `record_start` recorded, or None."""
        return _note(self._start)

    def _settle(self) -> None:
        """Remove databases that the CLI cannot use.

        The CLI cannot open a damaged database. In a home that was moved or copied, the database with the paths of
        sessions is wrong: the CLI would not find its sessions, or would write to those of the original home.
        """
        for database in list(self.path.glob("*.sqlite")):
            if not _is_database(database):
                for file in list(self.path.glob(f"{database.name}*")):
                    remove_tree(file)
        if _note(self._place) == str(self.path):
            return
        for database in list(self.path.glob(_STATE)):
            remove_tree(database)
        _write(self._place, str(self.path).encode())


def _is_kept(entry: Path) -> bool:
    return (entry.name in _KEPT or entry.match(_DATABASES)) and not entry.is_symlink()


def _is_database(path: Path) -> bool:
    """Return whether a file is empty or begins with the header of a database."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) in (_SQLITE, b"")


def _is_begun(rollout: Path) -> bool:
    with rollout.open("rb") as file:
        line = file.readline(_LONGEST_LINE)
    return line.startswith(b"{") and line.endswith(b"\n")


def _note(path: Path) -> str | None:
    """Return the text of a regular file, or None."""
    try:
        return read_regular(path, _LONGEST_NOTE).decode(errors="replace")
    except (FileNotFoundError, NotRegularError):
        return None


def _write(path: Path, content: bytes) -> None:
    """Write or replace a file that only its owner can read, because settings can contain secrets."""
    remove_tree(path)
    write_new(path, content)
