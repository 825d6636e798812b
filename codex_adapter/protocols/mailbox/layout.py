"""Lay out the directory of a mailbox, lock it, and write its files atomically (I12, I15)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codex_adapter import durable
from codex_adapter.own_directories import make_private
from codex_adapter.safe_read import NotRegularError, read_regular

__all__ = ["MailboxError", "MailboxLayout", "MailboxRefusal", "append_line", "path_exists", "path_text", "write_whole"]

_DIRECTORIES: Final = ("inbox", "outbox", "sessions", "processed", "rounds", "journal")
_SESSION_FILE: Final = re.compile(r"([0-9a-f]{8})\.json", re.ASCII)
_PRIVATE: Final = 0o700


class MailboxError(Exception):
    """The mailbox cannot be used; the text gives the problem and the next step."""


class MailboxRefusal(MailboxError):
    """The request was refused; nothing was changed."""


class MailboxLayout:
    """The paths of a mailbox. Raises `MailboxError` if its path cannot be resolved."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        try:
            self.root: Final = Path(os.path.realpath(root))
        except OSError as error:
            raise MailboxError(
                f"its path cannot be resolved ({os.strerror(error.errno or 0)}). Use an absolute path"
            ) from None
        self.inbox: Final = self.root / "inbox"
        self.outbox: Final = self.root / "outbox"
        self.processed: Final = self.root / "processed"
        self.directories: Final = tuple(self.root / name for name in _DIRECTORIES)
        self._lock: Final = self.root / "lock"

    def make(self) -> None:
        """Create the directories that do not exist. Only the owner can access them: they will have content of files."""
        try:
            make_private(self.root)
            for directory in self.directories:
                directory.mkdir(exist_ok=True)
        except OSError as error:
            raise MailboxError(f"its directories cannot be created ({os.strerror(error.errno or 0)})") from None

    def require(self) -> None:
        """Raise `MailboxRefusal` if this is not a mailbox, and `MailboxError` if it cannot be read."""
        try:
            found = (self.root / "sessions").is_dir()
        except OSError as error:
            raise MailboxError(f"it cannot be read ({os.strerror(error.errno or 0)})") from None
        if not found:
            raise MailboxRefusal("the mailbox does not exist. Create it with `mailbox start`")

    def outbox_file(self, session: str, sequence: int) -> Path:
        """Return the path of the outbox of a round."""
        return self.outbox / f"{_round(session, sequence)}.txt"

    def session_file(self, session: str) -> Path:
        """Return the path of the state of a session."""
        return self.root / "sessions" / f"{session}.json"

    def settings_file(self, session: str) -> Path:
        """Return the path of the settings of a session."""
        return self.root / "rounds" / f"{session}.json"

    def round_file(self, session: str, sequence: int) -> Path:
        """Return the path of the journal of a round."""
        return self.root / "rounds" / f"{_round(session, sequence)}.jsonl"

    def journal_file(self, session: str, sequence: int) -> Path:
        """Return the path of the records of the runs that answer a round's outbox."""
        return self.root / "journal" / f"{_round(session, sequence)}.jsonl"

    def processed_prefix(self, session: str, sequence: int) -> str:
        """Return the prefix of the names of a round's processed answers."""
        return f"{_round(session, sequence)}_"

    def sessions(self) -> list[str]:
        """Return the ids of all sessions, sorted."""
        try:
            names = os.listdir(self.root / "sessions")  # noqa: PTH208 - only the names
        except OSError as error:
            raise MailboxError(f"its sessions cannot be read ({os.strerror(error.errno or 0)})") from None
        return sorted(found[1] for found in map(_SESSION_FILE.fullmatch, names) if found)

    @contextmanager
    def locked(self) -> Iterator[Callable[[str], None]]:
        """Lock the mailbox. Yield a function that records the id of our session for other processes (I15).

        Raises `MailboxRefusal`, with the session of the process that has the lock, and `MailboxError`.
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
    with suppress(OSError):  # the content is only informative
        os.pwrite(fd, f"{session} {os.getpid()}\n".encode(), 0)


def path_text(path: str) -> str:
    """Return a path or a name as text. Bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode(errors="replace")


def path_exists(path: Path) -> bool:
    """Return whether a path of the mailbox exists. Raises `MailboxError` if its directory cannot be read."""
    try:
        return path.exists()
    except OSError as error:
        raise MailboxError(f"{path.parent.name}/ cannot be read ({os.strerror(error.errno or 0)})") from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically, through `{path}.tmp`. Raises `MailboxError` (I12)."""
    with _as_mailbox_errors(path.parent):
        durable.write_whole(path, data, mode=None, sole_writer=True)


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a file, and sync it. Raises `MailboxError`."""
    with _as_mailbox_errors(path.parent):
        new = not path.exists()
        with path.open("ab", buffering=0) as file:
            durable.write_all(file.fileno(), line)
            os.fsync(file.fileno())
        if new:
            durable.sync_directory(path.parent)


@contextmanager
def _as_mailbox_errors(directory: Path) -> Iterator[None]:
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
        return "another process uses it. Wait until that process ends"
    return (
        f"session {found[1].decode()} uses it (process {found[2].decode()}). Wait until that process ends, or stop it"
    )
