"""The directory of a mailbox: where everything lies, who has it, and writing that is whole or not at all (I12, I15)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codex_adapter import durable
from codex_adapter.safe_read import NotRegularError, read_regular

__all__ = ["MailboxError", "MailboxRefusal", "Places", "append_line", "as_text", "is_there", "write_whole"]

_DIRECTORIES: Final = ("inbox", "outbox", "sessions", "processed", "rounds", "journal")
_SESSION_FILE: Final = re.compile(r"([0-9a-f]{8})\.json", re.ASCII)
_PRIVATE: Final = 0o700


class MailboxError(Exception):
    """The mailbox cannot be used; the text says what to do."""


class MailboxRefusal(MailboxError):
    """Nor shall it: it was asked for what it is not there for, or not now; nothing was done."""


class Places:
    """The paths in a mailbox. Raises `MailboxError` where its directories cannot be made."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        try:
            self.root: Final = Path(os.path.realpath(root))
        except OSError as error:
            raise MailboxError(f"its path leads nowhere ({os.strerror(error.errno or 0)}); give all of it") from None
        self.inbox: Final = self.root / "inbox"
        self.outbox: Final = self.root / "outbox"
        self.processed: Final = self.root / "processed"
        self.directories: Final = tuple(self.root / name for name in _DIRECTORIES)
        self._lock: Final = self.root / "lock"

    def make(self) -> None:
        """Make what is not there; it is for its owner, since it will hold what the workspace has."""
        try:
            self.root.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            for directory in self.directories:
                directory.mkdir(exist_ok=True)
        except OSError as error:
            raise MailboxError(f"its directories cannot be made ({os.strerror(error.errno or 0)})") from None

    def require(self) -> None:
        """Raises `MailboxRefusal` where this is no mailbox, and `MailboxError` where that cannot be told."""
        try:
            found = (self.root / "sessions").is_dir()
        except OSError as error:
            raise MailboxError(f"it cannot be looked at ({os.strerror(error.errno or 0)})") from None
        if not found:
            raise MailboxRefusal("there is no mailbox; begin one with `mailbox start`")

    def outbox_file(self, session: str, sequence: int) -> Path:
        """What goes out in a round."""
        return self.outbox / f"{_round(session, sequence)}.txt"

    def session_file(self, session: str) -> Path:
        """Where a session stands."""
        return self.root / "sessions" / f"{session}.json"

    def settings_file(self, session: str) -> Path:
        """What a session needs to go on, beside its state."""
        return self.root / "rounds" / f"{session}.json"

    def round_file(self, session: str, sequence: int) -> Path:
        """What was begun and done in a round."""
        return self.root / "rounds" / f"{_round(session, sequence)}.jsonl"

    def journal_file(self, session: str, sequence: int) -> Path:
        """The records of the runs that answered a round's outbox."""
        return self.root / "journal" / f"{_round(session, sequence)}.jsonl"

    def processed_prefix(self, session: str, sequence: int) -> str:
        """How the names of a round's answers begin."""
        return f"{_round(session, sequence)}_"

    def sessions(self) -> list[str]:
        """The ids of all sessions, sorted."""
        try:
            names = os.listdir(self.root / "sessions")  # noqa: PTH208 - only the names
        except OSError as error:
            raise MailboxError(f"its sessions cannot be read ({os.strerror(error.errno or 0)})") from None
        return sorted(found[1] for found in map(_SESSION_FILE.fullmatch, names) if found)

    @contextmanager
    def locked(self) -> Iterator[Callable[[str], None]]:
        """Have the mailbox for ourselves; gives what tells others for which session (I15).

        Raises `MailboxRefusal` that names the session of whoever has it, and `MailboxError`.
        """
        try:
            fd = durable.open_locked(self._lock)
        except BlockingIOError:
            raise MailboxRefusal(_in_use(self._lock)) from None
        except OSError as error:
            raise MailboxError(f"it cannot be locked ({os.strerror(error.errno or 0)})") from None
        try:
            with suppress(OSError):
                os.ftruncate(fd, 0)
            yield lambda session: _write_owner(fd, session)
        finally:
            os.close(fd)


def _write_owner(fd: int, session: str) -> None:
    with suppress(OSError):  # the lock counts, not what it says
        os.pwrite(fd, f"{session} {os.getpid()}\n".encode(), 0)


def as_text(path: str) -> str:
    """A path, or a name, as text, whatever bytes it has."""
    return os.fsencode(path).decode(errors="replace")


def is_there(path: Path) -> bool:
    """Whether a directory of the mailbox has this. Raises `MailboxError` where that cannot be told."""
    try:
        return path.exists()
    except OSError as error:
        raise MailboxError(f"{path.parent.name}/ cannot be read ({os.strerror(error.errno or 0)})") from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file by way of `{path}.tmp`: who looks sees the whole of it or nothing (I12). Raises `MailboxError`."""
    with _in_our_words(path.parent):
        durable.write_whole(path, data, mode=None, sole_writer=True)


def append_line(path: Path, line: bytes) -> None:
    """Add a line to a file, on stable storage when this returns. Raises `MailboxError`."""
    with _in_our_words(path.parent):
        new = not path.exists()
        with path.open("ab", buffering=0) as file:
            durable.write_all(file.fileno(), line)
            os.fsync(file.fileno())
        if new:
            durable.sync_directory(path.parent)


@contextmanager
def _in_our_words(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MailboxError(f"{directory.name}/ cannot be written to ({os.strerror(error.errno or 0)})") from None


def _round(session: str, sequence: int) -> str:
    return f"{session}_seq{sequence:04d}"


def _in_use(lock: Path) -> str:
    owner = b""
    with suppress(OSError, NotRegularError):
        owner = read_regular(lock, 100)
    found = re.fullmatch(rb"([0-9a-f]{8}) ([0-9]{1,10})\n", owner)
    if found is None:
        return "another process is at work in it; wait for its end"
    return f"session {found[1].decode()} is at work in it (process {found[2].decode()}); wait for its end, or stop it"
