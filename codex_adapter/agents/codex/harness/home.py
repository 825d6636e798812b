"""A conversation's own CODEX_HOME: made anew for each turn, but for what the CLI itself keeps there (U9)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codex_adapter.agents.codex.harness.skills import copy_skill
from codex_adapter.durable import open_locked, write_new
from codex_adapter.safe_read import NotRegularError, read_regular
from codex_adapter.spaces import Skill
from codex_adapter.spaces.removal import remove
from codex_adapter.turn_errors import TurnError

__all__ = ["Home", "is_session"]

_SESSION: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_SKILLS: Final = "skills"
_LONGEST_LINE: Final = 16 * 1024 * 1024
_LONGEST_NOTE: Final = 64 * 1024
_KEPT: Final = frozenset(
    {"sessions", "archived_sessions", "installation_id", "thread-writer-locks", "models_cache.json"}
    | {"version.json", ".sandbox_migration"}
)
"""What the CLI finds again; also its databases. Whatever else lies here is of the last turn, and goes."""
_DATABASES: Final = "*.sqlite*"
_STATE: Final = "state_*.sqlite*"
_SQLITE: Final = b"SQLite format 3\0"


def is_session(key: str) -> bool:
    """Whether the CLI could have given this key; it takes any other for a name, and begins anew."""
    return _SESSION.fullmatch(key) is not None


class Home:
    """The home below a conversation's directory. Its methods block and raise OSError.

    Whoever is killed within `furnish` leaves what the next turn clears away: nothing that is written here is taken for
    whole by anybody but a CLI that is started afterwards.
    """

    def __init__(self, directory: Path) -> None:
        # Hooks are trusted by the path that has no links in it.
        root = Path(os.path.realpath(directory))
        self.path: Final = root / "codex"
        self.images: Final = root / "images"
        self._lock = root / "codex.lock"
        self._place = root / "codex.place"
        self._told = root / "codex.told"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be its only turn until the end of the block. Raises `TurnError` where another one is under way."""
        try:
            fd = open_locked(self._lock)
        except BlockingIOError:
            raise TurnError("another turn of this session is under way; wait until it has ended") from None
        try:
            yield
        finally:
            os.close(fd)

    def has(self, session: str) -> bool:
        """Whether the CLI keeps this session here: one whose first line is not whole it can never go on with."""
        found = (self.path / "sessions").rglob(f"rollout-*-{session}.jsonl")
        return any(path.is_file() and _is_begun(path) for path in found)

    def furnish(self, files: Mapping[str, bytes], skills: Sequence[Skill], links: Sequence[Path]) -> None:
        """Have these files, skills and links in it, and nothing of earlier turns but what the CLI keeps (U9).

        `files` are contents by names, `links` lead to files of the same names.
        """
        self.path.mkdir(exist_ok=True, mode=0o700)
        self._settle()
        for entry in list(self.path.iterdir()):
            if not _is_kept(entry):
                remove(entry)
        for name, content in files.items():
            _write(self.path / name, content)
        for link in links:
            (self.path / link.name).symlink_to(link)
        if skills:
            (self.path / _SKILLS).mkdir(mode=0o700)
        for skill in skills:
            copy_skill(skill, self.path / _SKILLS)

    def begin(self, told: str) -> None:
        """Note by a digest what the agent is told at the beginning of a conversation."""
        _write(self._told, told.encode())

    def began_with(self) -> str | None:
        """What `begin` was given; None where it was not called."""
        return _note(self._told)

    def _settle(self) -> None:
        """Forget databases that are none, which the CLI could not open, and in a home that was moved or copied the one
        that tells where sessions were before.

        The CLI would not find them, or go on in the files of the home that this one is a copy of.
        """
        for database in list(self.path.glob("*.sqlite")):
            if not _is_database(database):
                for file in list(self.path.glob(f"{database.name}*")):
                    remove(file)
        if _note(self._place) == str(self.path):
            return
        for database in list(self.path.glob(_STATE)):
            remove(database)
        _write(self._place, str(self.path).encode())


def _is_kept(entry: Path) -> bool:
    return (entry.name in _KEPT or entry.match(_DATABASES)) and not entry.is_symlink()


def _is_database(path: Path) -> bool:
    """By how it begins; an empty one is one."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) in (_SQLITE, b"")


def _is_begun(rollout: Path) -> bool:
    with rollout.open("rb") as file:
        line = file.readline(_LONGEST_LINE)
    return line.startswith(b"{") and line.endswith(b"\n")


def _note(path: Path) -> str | None:
    """What was written there; None where nothing was, or it is no more to be known."""
    try:
        return read_regular(path, _LONGEST_NOTE).decode(errors="replace")
    except (FileNotFoundError, NotRegularError):
        return None


def _write(path: Path, content: bytes) -> None:
    """For its owner alone: settings can have secrets in them. Whatever was there is gone first."""
    remove(path)
    write_new(path, content)
