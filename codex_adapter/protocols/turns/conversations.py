"""Which conversations there are under an `aspHome`: whose harness they are, and where it keeps them (U8)."""

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
from codex_adapter.safe_read import NotRegularError, read_regular
from codex_adapter.spaces.removal import remove
from codex_adapter.spaces.state import make_private

__all__ = ["ABANDONED", "Conversation", "Conversations"]

ABANDONED: Final = 24 * 60 * 60.0
"""Seconds after which a conversation that has no key yet is one whose turn was killed."""
_MOST_REMOVED: Final = 4
"""At a time, so that no turn waits long."""
_NAME: Final = re.compile(r"[0-9a-f]{16}")
_LARGEST: Final = 64 * 1024


class Conversation(msgspec.Struct, frozen=True):
    """A conversation by its key: the harness that has it, the name of its directory, and the last turn's model."""

    session: str
    harness: str
    directory: str
    model: str | None = None


class Conversations:
    """Those of one `aspHome`. Every method blocks, and raises OSError where the file system fails."""

    def __init__(self, asp_home: Path) -> None:
        self._root = asp_home / "state" / "sessions"
        # One file for each directory of a conversation without a key, so that no other has to be looked at for them.
        self._begun = self._root / "begun"

    def find(self, session: str) -> Conversation | None:
        """The conversation of this key; None where there is none that can be gone on with."""
        try:
            found = msgspec.json.decode(read_regular(self._record(session), _LARGEST), type=Conversation)
        except (FileNotFoundError, NotADirectoryError, NotRegularError):
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        whole = found.session == session and _NAME.fullmatch(found.directory)
        return found if whole and self.directory(found).is_dir() else None

    def directory(self, conversation: Conversation) -> Path:
        """Where its harness keeps what is its own."""
        return self._root / conversation.directory

    def begin(self) -> Path:
        """A directory for a conversation that has no key yet, for its owner alone.

        Some that killed turns left are removed.
        """
        for directory in (self._root.parent, self._root, self._begun):
            make_private(directory)
        self._remove_abandoned()
        name = secrets.token_hex(8)
        (self._begun / name).touch(mode=0o600, exist_ok=False)
        make_private(self._root / name)
        return self._root / name

    def abandon(self, directory: Path) -> None:
        """Remove the directory of a conversation that got no key; what cannot be removed now is a killed turn's."""
        with suppress(OSError):
            remove(directory)
            (self._begun / directory.name).unlink(missing_ok=True)

    def save(self, conversation: Conversation) -> None:
        """Write it down, whole or not at all."""
        # First: a directory that has a record must never be taken for one of a killed turn.
        (self._begun / conversation.directory).unlink(missing_ok=True)
        write_whole(self._record(conversation.session), msgspec.json.encode(conversation))

    def _remove_abandoned(self) -> None:
        removed = 0
        for begun in self._begun.iterdir():
            if _NAME.fullmatch(begun.name) and _age(begun) > ABANDONED:
                self.abandon(self._root / begun.name)
                removed += 1
            if removed == _MOST_REMOVED:
                return

    def _record(self, session: str) -> Path:
        """By a digest: a key may be any text."""
        return self._root / f"{hashlib.sha256(session.encode(errors='surrogatepass')).hexdigest()}.json"


def _age(path: Path) -> float:
    """Seconds since it was written; of what somebody else has just removed, none."""
    try:
        return time.time() - path.lstat().st_mtime
    except FileNotFoundError:
        return 0.0
