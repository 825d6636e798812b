"""Read the content of a space and compute its digest, within bounds and without following links (Z7)."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from codex_adapter.spaces.errors import SpaceError, unreadable
from codex_adapter.spaces.file_readers import LARGEST_TEXT, LARGEST_TOML
from codex_adapter.strict_decode import shown

__all__ = ["MOST_BYTES", "MOST_NAMES", "Content", "NewFile", "is_utf8", "read_content"]

MOST_BYTES: Final = 64 * 1024 * 1024
MOST_NAMES: Final = 10_000
"""Files and directories together."""
_DEEPEST: Final = 64
_LEFT_OUT: Final = frozenset({".git", "__pycache__"})
_KEPT: Final = re.compile(r"(space\.toml|hooks/hooks\.toml)|AGENTS\.md|mcp/mcp\.json|skills/[^/]+/SKILL\.md")
"""The files whose content is kept; the group matches those in TOML."""
_CHUNK: Final = 1 << 17
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

NewFile: TypeAlias = Callable[[str, bool], AbstractContextManager[Callable[[bytes], None]]]
"""Creates the copy of a file at this path, executable or not. Its context yields a function that writes to the copy."""


class Content(NamedTuple):
    """The content of a space: the digest of all files, and, by path, the content of the files that the package reads.

    `linked` is whether a file has hard links, whose other names may be anywhere.
    """

    digest: str
    kept: dict[str, bytes]
    linked: bool = False


def read_content(directory: Path, new_file: NewFile | None = None) -> Content:
    """Read the content of a space, and copy it at the same time with `new_file`.

    Links on the way to the directory are followed. A link inside the directory is an error. Raises `SpaceError` (Z7).
    """
    try:
        root = os.open(directory, _DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        raise SpaceError("its directory does not exist. Create it, or change the reference.") from None
    except (OSError, ValueError) as error:
        raise unreadable("its directory", error) from None
    walk = _Walk(new_file or _no_copy)
    try:
        walk.directory(root, "", 1)
    finally:
        os.close(root)
    return Content(walk.digest(), walk.kept, walk.linked)


@contextmanager
def _no_copy(_path: str, _executable: bool) -> Iterator[Callable[[bytes], None]]:
    yield lambda _: None


class _Walk:
    """One walk through a directory, from descriptor to descriptor."""

    def __init__(self, new_file: NewFile) -> None:
        self.kept: Final[dict[str, bytes]] = {}
        self.linked = False
        self._new_file = new_file
        self._parts: list[tuple[bytes, bytes]] = []
        self._names = 0
        self._bytes = 0

    def digest(self) -> str:
        return hashlib.sha256(b"".join(part for _, part in sorted(self._parts))).hexdigest()

    def directory(self, fd: int, prefix: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise SpaceError(f"its directories are more than {_DEEPEST} deep. Use fewer levels.")
        for name in self._list_names(fd, prefix):
            path = f"{prefix}{name}"
            try:
                mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    below = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
                elif stat.S_ISREG(mode):  # never open a device
                    below = os.open(name, _FILE, dir_fd=fd)
                else:
                    raise _no_file(path, mode)
            except OSError as error:
                raise unreadable(path, error) from None
            try:
                if stat.S_ISDIR(mode):
                    self.directory(below, f"{path}/", depth + 1)
                else:
                    self._read_file(below, path)
            finally:
                os.close(below)

    def _list_names(self, fd: int, prefix: str) -> list[str]:
        names = []
        try:
            with os.scandir(fd) as entries:
                for entry in entries:
                    if entry.name in _LEFT_OUT:
                        continue
                    self._names += 1
                    if self._names > MOST_NAMES:
                        raise SpaceError(f"it has more than {MOST_NAMES} files and directories. Remove some.")
                    names.append(entry.name)
        except OSError as error:
            raise unreadable(prefix or "its directory", error) from None
        for name in names:
            if not is_utf8(name):
                raise SpaceError(f"{shown(prefix + name)}: its name is not UTF-8. Rename it.")
        return sorted(names)

    def _read_file(self, fd: int, path: str) -> None:
        try:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                raise _no_file(path, before.st_mode)
            self.linked |= before.st_nlink > 1
            executable = bool(before.st_mode & stat.S_IXUSR)
            whole, kept = hashlib.sha256(), bytearray()
            most = _get_limit(path)
            with self._new_file(path, executable) as write:
                while chunk := os.read(fd, _CHUNK):
                    self._bytes += len(chunk)
                    if self._bytes > MOST_BYTES:
                        raise SpaceError(f"its files have more than {MOST_BYTES} bytes. Remove some.")
                    whole.update(chunk)
                    write(chunk)
                    if most:
                        kept += chunk
                        if len(kept) > most:
                            raise SpaceError(f"{shown(path)} is larger than {most} bytes. Make it smaller.")
            if _get_stamp(os.fstat(fd)) != _get_stamp(before):
                raise SpaceError(f"{shown(path)} changes while it is read. Try again.")
        except OSError as error:
            raise unreadable(path, error) from None
        if most:
            self.kept[path] = bytes(kept)
        name = os.fsencode(path)
        self._parts.append((name, name + (b"\0x\0" if executable else b"\0-\0") + whole.digest()))


def _get_limit(path: str) -> int:
    """Return the limit in bytes for a file whose content is kept; 0 for other files."""
    kept = _KEPT.fullmatch(path)
    return 0 if kept is None else LARGEST_TOML if kept[1] else LARGEST_TEXT


def _get_stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_utf8(name: str) -> bool:
    """Return whether the file system has this name in UTF-8."""
    try:
        os.fsencode(name).decode()
    except UnicodeDecodeError:
        return False
    return True


def _no_file(path: str, mode: int) -> SpaceError:
    what = "is a link" if stat.S_ISLNK(mode) else "is not a regular file"
    return SpaceError(f"{shown(path)} {what}, which a space cannot contain. Replace it by a file.")
