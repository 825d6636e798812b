"""Write a file atomically: write a temporary file beside it, then rename that file (H4)."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from codex_adapter.durable import write_all
from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.paths import make_temporary_name, make_temporary_prefix
from codex_adapter.workspace.tree import Place, Tree

__all__ = ["remove_temporary_files", "write_file"]

NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE_BITS: Final = 0o666
PERMISSION_BITS: Final = 0o777
RENAME_NOREPLACE: Final = 1
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_UNSUPPORTED: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})


def write_file(tree: Tree, place: Place, pieces: Iterable[bytes], *, overwrite: bool, limit: int) -> int:
    """Write a file, whole or not at all, and return its size in bytes.

    A replaced file keeps its permission bits. One piece is in memory at a time. Raises `WorkspaceError`, and the
    exceptions of `pieces` (H4, H5, H7).
    """
    bits = NEW_FILE_BITS if place.status is None else place.status.st_mode & PERMISSION_BITS
    temporary = make_temporary_name(place.name)
    try:
        descriptor = os.open(temporary, NEW_FILE, bits, dir_fd=place.parent)
    except FileNotFoundError:
        raise tree.missing("Directory") from None
    except OSError as error:
        raise WorkspaceError.of(error) from None
    try:
        try:
            size = _fill(descriptor, pieces, limit)
            _finish(descriptor, None if place.status is None else bits)
        finally:
            os.close(descriptor)
        _publish(tree, place, temporary, overwrite=overwrite)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place.parent)
        raise
    return size


def remove_temporary_files(place: Place) -> None:
    """Remove the temporary files for a place. Raises `WorkspaceError` (H4)."""
    prefix = make_temporary_prefix(place.name)
    try:
        directory = os.open(b".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.parent)
        try:
            with os.scandir(directory) as found:
                left = [name for entry in found if (name := os.fsencode(entry.name)).startswith(prefix)]
        finally:
            os.close(directory)
        for name in left:
            with suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(name, dir_fd=place.parent)
    except OSError as error:
        raise WorkspaceError.of(error) from None


def _fill(descriptor: int, pieces: Iterable[bytes], limit: int) -> int:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise WorkspaceError("too_large", f"File is larger than {limit} bytes")
        try:
            write_all(descriptor, piece)
        except OSError as error:
            raise WorkspaceError.of(error) from None
    return size


def _finish(descriptor: int, bits: int | None) -> None:
    try:
        if bits is not None:
            os.fchmod(descriptor, bits)
        os.fsync(descriptor)
    except OSError as error:
        raise WorkspaceError.of(error) from None


def _publish(tree: Tree, place: Place, temporary: bytes, *, overwrite: bool) -> None:
    try:
        if overwrite:
            os.replace(temporary, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)
        elif not _rename_to_new(place, temporary):
            # A hard link also fails if the name exists, and every POSIX system has hard links.
            os.link(temporary, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent, follow_symlinks=False)
            os.unlink(temporary, dir_fd=place.parent)
    except FileNotFoundError:
        raise tree.missing("Directory") from None
    except OSError as error:
        raise WorkspaceError.of(error) from None


def _rename_to_new(place: Place, temporary: bytes) -> bool:
    """Rename without replacing a file. Return False if the system or the file system cannot do this."""
    rename = getattr(_LIBC, "renameat2", None)
    if rename is None:
        return False
    if rename(place.parent, temporary, place.parent, place.name, RENAME_NOREPLACE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))
