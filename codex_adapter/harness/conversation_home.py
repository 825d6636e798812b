"""Rewrite the directory of a conversation's CLI for each turn, except the CLI's own files (U9)."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codex_adapter.durable import open_locked, write_new
from codex_adapter.harness.skills import copy_skill
from codex_adapter.hints import ADVICE
from codex_adapter.own_directories import remove_tree
from codex_adapter.safe_read import NotRegularError, read_regular
from codex_adapter.spaces import Skill
from codex_adapter.turn_errors import TurnError

__all__ = ["ConversationHome", "is_session", "starts_with_line", "write_private"]

_SESSION: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_SKILLS: Final = "skills"
_LONGEST_LINE: Final = 16 * 1024 * 1024
_LONGEST_NOTE: Final = 64 * 1024


def is_session(key: str) -> bool:
    """Return whether a key is a UUID in lower case, as the ids of sessions are."""
    return _SESSION.fullmatch(key) is not None


def starts_with_line(file: Path) -> bool:
    """Return whether a session's file has a complete first line, which a resume needs. Block on files."""
    with file.open("rb") as opened:
        line = opened.readline(_LONGEST_LINE)
    return line.startswith(b"{") and line.endswith(b"\n")


def write_private(path: Path, content: bytes) -> None:
    """Write or replace a file that only its owner can read, because settings can contain secrets."""
    remove_tree(path)
    write_new(path, content)


class ConversationHome(ABC):
    """The directory `name` below a conversation's directory. Its methods block and raise OSError.

    `kept` are patterns of the names of the CLI's own files. All other files are of the last turn and are removed. A
    kill during `furnish` is harmless: no CLI has started yet, and the next turn removes the partial files.
    """

    def __init__(self, directory: Path, name: str, kept: Sequence[str]) -> None:
        # Settings refer to files by their path without links.
        self.root: Final = Path(os.path.realpath(directory))
        self.path: Final = self.root / name
        self.images: Final = self.root / "images"
        self.skills: Final = self.path / _SKILLS
        self._name = name
        self._kept = kept

    @abstractmethod
    def has(self, session: str) -> bool:
        """Return whether the CLI has this session here, with a complete first line, which a resume needs."""

    def check_session(self, session: str | None) -> None:
        """Raise `TurnError` if the key is not None and its session cannot be resumed here (U8)."""
        if session is not None and not (is_session(session) and self.has(session)):
            raise TurnError(ADVICE["session_unknown"], "harness_session_not_found")

    def check_path(self) -> None:
        """Raise `TurnError` for a path that a CLI cannot insert into commands."""
        if not str(self.path).isprintable() or set(str(self.path)) & set("$`\"'"):
            raise TurnError(
                "The path of aspHome contains $ ` \" ' or a character that is not printable. Use another path."
            )

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock the home for one turn. Raises `TurnError` while another turn has the lock."""
        try:
            fd = open_locked(self.root / f"{self._name}.lock")
        except BlockingIOError:
            raise TurnError("Another turn of this session is running. Wait until it has ended.") from None
        try:
            yield
        finally:
            os.close(fd)

    def furnish(self, files: Mapping[str, bytes], skills: Sequence[Skill], links: Sequence[Path] = ()) -> None:
        """Write files, skills and links. Remove the files of earlier turns, except the CLI's own files. (U9)

        `files` are contents by names; `links` are the targets of links with the same names.
        """
        self.path.mkdir(exist_ok=True, mode=0o700)
        for entry in list(self.path.iterdir()):
            if entry.is_symlink() or not any(map(entry.match, self._kept)):
                remove_tree(entry)
        for name, content in files.items():
            write_private(self.path / name, content)
        for link in links:
            (self.path / link.name).symlink_to(link)
        if skills:
            self.skills.mkdir(mode=0o700)
        for skill in skills:
            copy_skill(skill, self.skills)

    def write_note(self, name: str, text: str) -> None:
        """Write a note beside the home, where no turn removes it."""
        write_private(self.root / f"{self._name}.{name}", text.encode())

    def note(self, name: str) -> str | None:
        """Return the text of a note; None if it is not a regular file."""
        try:
            return read_regular(self.root / f"{self._name}.{name}", _LONGEST_NOTE).decode(errors="replace")
        except (FileNotFoundError, NotRegularError):
            return None
