"""Record the conversations under an `aspHome`, each with its harness and its directory (U8)."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from codex_adapter.durable import write_whole
from codex_adapter.own_directories import make_private, remove_tree
from codex_adapter.safe_read import NotRegularError, read_regular

__all__ = ["ABANDONED", "Conversation", "Conversations"]

ABANDONED: Final = 24 * 60 * 60.0
"""Seconds after which the turn of a conversation without a key counts as killed."""
_MOST_REMOVED: Final = 4
"""The limit of removed directories per turn, so that no turn waits long."""
_NAME: Final = re.compile(r"[0-9a-f]{16}")
_LARGEST: Final = 64 * 1024


class Conversation(msgspec.Struct, frozen=True):
    """The record of a conversation: its key, its harness, the name of its directory, and the last turn's model."""

    session: str
    harness: str
    directory: str
    model: str | None = None


class Conversations:
    """The conversations of one `aspHome`. Every method blocks and raises OSError."""

    def __init__(self, asp_home: Path) -> None:
        self._root = asp_home / "state" / "sessions"
        # This directory has one file for each conversation without a key, so that they are found quickly.
        self._begun = self._root / "begun"

    def find(self, session: str) -> Conversation | None:
        """Return the conversation with this key; None if it cannot be resumed."""
        try:
            found = msgspec.json.decode(read_regular(self._get_record_path(session), _LARGEST), type=Conversation)
        except (FileNotFoundError, NotADirectoryError, NotRegularError):
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        whole = found.session == session and _NAME.fullmatch(found.directory)
        return found if whole and self.directory(found).is_dir() else None

    def directory(self, conversation: Conversation) -> Path:
        """Return the directory in which the harness stores its files."""
        return self._root / conversation.directory

    def begin(self) -> Path:
        """Create a private directory for a conversation without a key, and return it.

        Remove some directories that killed turns left.
        """
        for directory in (self._root.parent, self._root, self._begun):
            make_private(directory)
        self._remove_abandoned()
        name = secrets.token_hex(8)
        (self._begun / name).touch(mode=0o600, exist_ok=False)
        make_private(self._root / name)
        return self._root / name

    def abandon(self, directory: Path) -> None:
        """Remove the directory of a conversation that got no key. After an error, a later turn removes it."""
        with suppress(OSError):
            remove_tree(directory)
            (self._begun / directory.name).unlink(missing_ok=True)

    def save(self, conversation: Conversation) -> None:
        """Write the record of a conversation, whole or not at all."""
        # This file is removed first: a directory with a record must never count as the directory of a killed turn.
        (self._begun / conversation.directory).unlink(missing_ok=True)
        write_whole(self._get_record_path(conversation.session), msgspec.json.encode(conversation))

    def _remove_abandoned(self) -> None:
        removed = 0
        for begun in self._begun.iterdir():
            if _NAME.fullmatch(begun.name) and _get_age(begun) > ABANDONED:
                self.abandon(self._root / begun.name)
                removed += 1
            if removed == _MOST_REMOVED:
                return

    def _get_record_path(self, session: str) -> Path:
        """Return the path of a record. Its name is a digest, because a key may be any text."""
        return self._root / f"{hashlib.sha256(session.encode(errors='surrogatepass')).hexdigest()}.json"


def _get_age(path: Path) -> float:
    """Return the seconds since a file was written; 0 if it has just been removed."""
    try:
        return time.time() - path.lstat().st_mtime
    except FileNotFoundError:
        return 0.0
