"""Find the complete answers in the inbox, in the order of their last change (I13)."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from codex_adapter.protocols.mailbox.answer_parser import ends_within_block
from codex_adapter.protocols.mailbox.layout import MailboxError
from codex_adapter.protocols.mailbox.messages import MOST_ANSWER_BYTES

__all__ = ["Inbox", "InboxState", "read_answer_file", "waiting_names"]

_SECONDS_UNCHANGED: Final = 1.0
_SECONDS_UNCLOSED: Final = 10.0
"""Seconds without a change after which an answer that ends within a block counts as complete."""
_MOST_OTHERS: Final = 10
_PROBE: Final = ".codex-adapter-"
"""The prefix of files that test whether the file system reports open files."""
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class InboxState(NamedTuple):
    """The state of the inbox."""

    complete: tuple[Path, ...]
    """The answers that can be accepted, the oldest first. The list ends at the first partial answer."""
    partial: str | None
    """The name of the first answer that is not complete."""
    unreadable: tuple[str, ...]
    """The names of answers that cannot be read."""
    retry_in: float | None
    """Seconds until the partial answer may be complete; None without a partial answer."""
    others: tuple[str, ...] = ()
    """The names of the first ten entries that are not answers."""
    open_elsewhere: bool = False
    """Whether another program has the partial answer open for writing ten seconds after its last change."""


class _State(NamedTuple):
    size: int
    changed: int
    since: float
    ends_within_block: bool


class _Found(NamedTuple):
    path: Path
    status: os.stat_result


class Inbox:
    """The directory in which answers arrive. It remembers sizes and times to see which files no longer change."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, _State] = {}
        self._leases = _supports_leases(directory)

    def scan(self) -> InboxState:
        """Return the present state. Raises `MailboxError` if the inbox cannot be read."""
        found, unreadable, others = _list_inbox(self._directory)
        self._known = {entry.path.name: self._state(entry) for entry in found}
        complete: list[Path] = []
        for path, status in found:
            unchanged = self._unchanged_for(path, status)
            wait = (_SECONDS_UNCLOSED if self._known[path.name].ends_within_block else _SECONDS_UNCHANGED) - unchanged
            if wait > 0:
                return InboxState(tuple(complete), path.name, unreadable, wait, others)
            if self._leases and _is_open_for_writing(path):
                open_elsewhere = unchanged > _SECONDS_UNCLOSED
                return InboxState(tuple(complete), path.name, unreadable, _SECONDS_UNCHANGED, others, open_elsewhere)
            complete.append(path)
        return InboxState(tuple(complete), None, unreadable, None, others)

    def _state(self, entry: _Found) -> _State:
        path, status = entry
        known = self._known.get(path.name)
        if known is not None and (known.size, known.changed) == (status.st_size, status.st_mtime_ns):
            return known
        return _State(status.st_size, status.st_mtime_ns, time.monotonic(), _is_unclosed(path))

    def _unchanged_for(self, path: Path, status: os.stat_result) -> float:
        """Return the seconds since the last change, the longest by two clocks: another machine's may be wrong."""
        return max(time.time() - status.st_mtime, time.monotonic() - self._known[path.name].since)


def waiting_names(directory: Path) -> tuple[str, ...]:
    """Return the names of the answers in an inbox, complete or not, the oldest first. Raises `MailboxError`."""
    found, _, _ = _list_inbox(directory)
    return tuple(entry.path.name for entry in found)


def read_answer_file(path: Path) -> bytes:
    """Return the bytes of an answer, one more than the limit if it is too large. Raises `MailboxError`."""
    try:
        fd = os.open(path, _READ)
        with os.fdopen(fd, "rb") as file:
            return file.read(MOST_ANSWER_BYTES + 1)
    except OSError as error:
        raise MailboxError(f"an answer cannot be read ({os.strerror(error.errno or 0)}). Check the file") from None


def _list_inbox(directory: Path) -> tuple[list[_Found], tuple[str, ...], tuple[str, ...]]:
    found: list[_Found] = []
    unreadable: list[str] = []
    others: list[str] = []
    try:
        names = os.listdir(directory)  # noqa: PTH208 - only the names
    except OSError as error:
        raise MailboxError(f"its inbox cannot be read ({os.strerror(error.errno or 0)})") from None
    for name in names:
        path = directory / name
        if name.startswith("."):
            continue
        with suppress(OSError):
            status = path.lstat()
            if not (stat.S_ISREG(status.st_mode) and name.lower().endswith(".txt")):
                # A file that was changed recently may still get its final name.
                if time.time() - status.st_mtime > _SECONDS_UNCLOSED:
                    others.append(name)
            elif os.access(path, os.R_OK):
                found.append(_Found(path, status))
            else:
                unreadable.append(name)
    found.sort(key=lambda entry: (entry.status.st_mtime_ns, entry.path.name))
    return found, tuple(sorted(unreadable)), tuple(sorted(others)[:_MOST_OTHERS])


def _is_unclosed(path: Path) -> bool:
    """Return whether the rest may still arrive: the file is empty or ends within a block."""
    try:
        data = read_answer_file(path)
    except MailboxError:
        return True
    return not data or (len(data) <= MOST_ANSWER_BYTES and ends_within_block(data))


def _is_open_for_writing(path: Path) -> bool:
    """Return whether a process has the file open for writing. Linux refuses a lease on such a file."""
    try:
        fd = os.open(path, _READ)
    except OSError:
        return True
    try:
        # If a process opens the file for writing now, we get a signal. The default, SIGIO, would kill us.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False  # only the owner of a file gets a lease
    finally:
        os.close(fd)
    return False


def _supports_leases(directory: Path) -> bool:
    """Return whether this file system reports open files. Some have no leases, and some refuse all leases."""
    try:
        for stale in directory.glob(f"{_PROBE}*"):  # of a killed process
            stale.unlink()
        fd, name = tempfile.mkstemp(dir=directory, prefix=_PROBE)
        try:
            open_elsewhere = _is_open_for_writing(Path(name))
            os.close(fd)
            return open_elsewhere and not _is_open_for_writing(Path(name))
        finally:
            Path(name).unlink()
    except OSError:
        return False
