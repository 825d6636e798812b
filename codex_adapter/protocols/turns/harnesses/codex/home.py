"""A conversation's own CODEX_HOME: made anew for each turn, but for what the CLI itself keeps there (U9)."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from codex_adapter.protocols.turns.spaces import Skill

__all__ = ["Home", "is_session"]

_SESSION: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_SKILLS: Final = "skills"
_KEPT: Final = frozenset(
    {"sessions", "archived_sessions", "installation_id", "thread-writer-locks", "models_cache.json"}
    | {"version.json", ".sandbox_migration"}
)
"""What the CLI finds again; also its databases. Whatever else lies here is of the last turn, and goes."""
_DATABASES: Final = "*.sqlite*"
_STATE: Final = "state_*.sqlite*"


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
        self._place = root / "codex.place"
        self._told = root / "codex.told"

    def has(self, session: str) -> bool:
        """Whether the CLI keeps this session here."""
        found = (self.path / "sessions").rglob(f"rollout-*-{session}.jsonl")
        return any(path.is_file() for path in found)

    def furnish(self, files: Mapping[str, bytes], skills: Sequence[Skill], links: Sequence[Path]) -> None:
        """Have these files, skills and links in it, and nothing of earlier turns but what the CLI keeps (U9).

        `files` are contents by names, `links` lead to files of the same names.
        """
        self.path.mkdir(exist_ok=True, mode=0o700)
        self._settle()
        for entry in list(self.path.iterdir()):
            if not _is_kept(entry):
                _remove(entry)
        for name, content in files.items():
            _write(self.path / name, content)
        for link in links:
            (self.path / link.name).symlink_to(link)
        if skills:
            (self.path / _SKILLS).mkdir(mode=0o700)
        for skill in skills:
            _copy(Path(skill.directory), self.path / _SKILLS / skill.name)

    def begin(self, told: str) -> None:
        """Note by a digest what the agent is told at the beginning of a conversation."""
        _write(self._told, told.encode())

    def began_with(self) -> str | None:
        """What `begin` was given; None where it was not called."""
        try:
            return self._told.read_bytes().decode(errors="replace")
        except FileNotFoundError:
            return None

    def _settle(self) -> None:
        """In a home that was moved or copied, forget the database that tells where sessions were before.

        The CLI would not find them, or go on in the files of the home that this one is a copy of.
        """
        here = os.fsencode(self.path)
        try:
            if self._place.read_bytes() == here:
                return
        except FileNotFoundError:
            pass
        for database in list(self.path.glob(_STATE)):
            database.unlink()
        temporary = self._place.with_suffix(".new")
        _write(temporary, here)
        temporary.replace(self._place)


def _is_kept(entry: Path) -> bool:
    return (entry.name in _KEPT or entry.match(_DATABASES)) and not entry.is_symlink()


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()


def _write(path: Path, content: bytes) -> None:
    """For its owner alone: settings can have secrets in them."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _copy(source: Path, target: Path) -> None:
    """Copy a directory; what is copied can be removed again, whatever may be done with the source."""
    target.mkdir(mode=0o700)
    for entry in source.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            _copy(entry, target / entry.name)
        else:
            shutil.copy(entry, target / entry.name)
