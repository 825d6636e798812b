"""Write the file of an option, such as `--last-message`, at its path and never where a link leads (C25).

An agent writes to the directory where it works, and a repository brings links along. So the directory is opened before
the run, and the file is made there by its descriptor: whatever is at its name in the end is replaced, not followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.present.lines import printable
from codex_adapter.durable import write_all, write_whole

__all__ = ["OutputFile", "refuse_links"]

_DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_MOST_STEPS: Final = 4096


def refuse_links(path: str, option: str) -> None:
    """Raise `UsageError` if a directory is a link, or a link leads to it that C25 refuses; it may be missing.

    Raise OSError if the system fails. Block on the file system (C22, C25).
    """
    above, name = os.path.split(path.rstrip("/"))
    try:
        directory = _walk(above, [Path.cwd()])
        try:
            if stat.S_ISLNK(os.lstat(name or ".", dir_fd=directory).st_mode):
                raise _Link
        finally:
            os.close(directory)
    except _Link as link:
        raise link.refusal(option) from None
    except FileNotFoundError:
        return


class OutputFile:
    """A regular file, or a character device, that is written at the end of a command. `option` names it in errors."""

    def __init__(self, path: str, option: str) -> None:
        self.path = path
        self._option = option
        self._directory = -1
        self._name = ""
        self._mode = 0o600
        self._is_device = self._is_link = False

    def prepare(self, agent_writes: Iterable[str] = (".",)) -> None:
        """Open the directory of the file, before an agent can change the way to it.

        Links in these directories are refused, and in those where other users may write. Raise `UsageError`, and
        OSError if the system fails. Block on the file system (C25).
        """
        hostile = [Path(place).resolve() for place in agent_writes]
        directory, self._name = os.path.split(self.path)
        if self._name in ("", ".", ".."):
            raise self._refusal()
        try:
            self._directory = _walk(directory, hostile)
        except _Link as link:
            raise link.refusal(self._option) from None
        except (FileNotFoundError, NotADirectoryError):
            raise self._refusal() from None
        try:
            found = os.lstat(self._name, dir_fd=self._directory)
        except FileNotFoundError:
            if not os.access(_place(self._directory), os.W_OK | os.X_OK):
                raise self._refusal() from None
            return
        if stat.S_ISLNK(found.st_mode):
            self._is_link = True
            self._is_device = not _is_hostile(self._directory, hostile) and _is_device(self.path)
            if not self._is_device:
                raise _Link().refusal(self._option)
        elif stat.S_ISREG(found.st_mode):
            self._mode = stat.S_IMODE(found.st_mode) & 0o777
        else:
            self._is_device = stat.S_ISCHR(found.st_mode)
            if not self._is_device:
                raise self._refusal()

    def write(self, content: bytes) -> str:
        """Write the file, whole or not at all, and return its real path.

        An existing file keeps the permission bits that it had; only its owner can read a new file. The content is not
        synced: the end of a run must not wait for a slow disk. Raise as `prepare`, which is called if it was not.
        """
        if self._directory < 0:
            self.prepare()
        if self._is_device:
            flags = os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC | (0 if self._is_link else os.O_NOFOLLOW)
            device = os.open(self._name, flags, dir_fd=self._directory)
            try:
                write_all(device, content)
            finally:
                os.close(device)
            return self.path
        write_whole(Path(_place(self._directory), self._name), content, mode=self._mode, sync=False)
        return str(_real_path(self._directory) / self._name)

    def close(self) -> None:
        """Release the directory."""
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1

    def _refusal(self) -> UsageError:
        return UsageError(f"{self._option} must be a regular file in an existing directory. Specify the path of a file")


class _Link(Exception):
    """A link that may not be followed: its name if it is on the way to the last part of the path."""

    def refusal(self, option: str) -> UsageError:
        """Return the error for a person (E5)."""
        link = f"the directory {printable(self.args[0])!r} of the path" if self.args else "the last part of the path"
        return UsageError(
            f"{option}: {link} is a link, which another program may have made. Specify the path to which it leads"
        )


def _walk(path: str, hostile: list[Path]) -> int:
    """Return a descriptor of a directory, to which links lead only from directories that are not hostile."""
    waiting = path.split("/")[::-1]
    current = os.open("/" if path.startswith("/") else ".", _DIRECTORY)
    try:
        for _ in range(_MOST_STEPS):
            if not waiting:
                return current
            following = _step(current, waiting, hostile)
            os.close(current)
            current = following
    except BaseException:
        os.close(current)
        raise
    os.close(current)
    raise NotADirectoryError(errno.ELOOP, os.strerror(errno.ELOOP))


def _step(current: int, waiting: list[str], hostile: list[Path]) -> int:
    """Return a descriptor for the next part of a path. The target of a link becomes a part of the path."""
    name = waiting.pop() or "."
    if not stat.S_ISLNK(os.lstat(name, dir_fd=current).st_mode):
        return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
    if _is_hostile(current, hostile):
        raise _Link(name)
    target = os.readlink(name, dir_fd=current)
    waiting += target.split("/")[::-1]
    return os.open("/" if target.startswith("/") else ".", _DIRECTORY, dir_fd=current)


def _is_hostile(directory: int, hostile: list[Path]) -> bool:
    """Return whether an agent, or another user, may make links in a directory."""
    found, place = os.fstat(directory), _real_path(directory)
    others = stat.S_IWOTH | (stat.S_IWGRP if found.st_gid != os.getegid() else 0)
    return (
        found.st_uid not in (0, os.geteuid())
        or bool(found.st_mode & others)
        or any(place.is_relative_to(root) for root in hostile)
    )


def _place(directory: int) -> str:
    """Return a path that leads to an open directory, whatever has its name now."""
    return f"/proc/self/fd/{directory}"


def _real_path(directory: int) -> Path:
    return Path(_place(directory)).readlink()


def _is_device(path: str) -> bool:
    with suppress(OSError):
        return Path(path).is_char_device()
    return False
