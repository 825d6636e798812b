"""Which conversations there are under an `aspHome`: whose harness they are, and where it keeps them (U8)."""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

import msgspec

__all__ = ["Conversation", "Conversations"]


class Conversation(msgspec.Struct, frozen=True):
    """A conversation by its key: the harness that has it, the name of its directory, and the last turn's model."""

    session: str
    harness: str
    directory: str
    model: str | None = None


class Conversations:
    """Those of one `aspHome`. Every method raises OSError where the file system fails."""

    def __init__(self, asp_home: Path) -> None:
        self._root = asp_home / "state" / "sessions"

    def find(self, session: str) -> Conversation | None:
        """The conversation of this key; None where there is none that can be gone on with."""
        try:
            found = msgspec.json.decode(self._record(session).read_bytes(), type=Conversation)
        except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        return found if found.session == session and self.directory(found).is_dir() else None

    def directory(self, conversation: Conversation) -> Path:
        """Where its harness keeps what is its own."""
        return self._root / Path(conversation.directory).name

    def new_directory(self) -> Path:
        """A directory for a conversation that has no key yet; for its owner alone."""
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = self._root / secrets.token_hex(8)
        made.mkdir(mode=0o700)
        return made

    def save(self, conversation: Conversation) -> None:
        """Write it down, whole or not at all."""
        path = self._record(conversation.session)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(msgspec.json.encode(conversation))
                file.flush()
                os.fsync(fd)
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise

    def _record(self, session: str) -> Path:
        """By a digest: a key may be any text."""
        return self._root / f"{hashlib.sha256(session.encode(errors='surrogatepass')).hexdigest()}.json"
