"""Define the errors of a workspace, with messages for an agent (H6)."""

from __future__ import annotations

import errno
from typing import Final, Literal

__all__ = ["Code", "WorkspaceError"]

Code = Literal[
    "bad_name",
    "outside",
    "too_many_links",
    "not_found",
    "exists",
    "is_directory",
    "not_a_directory",
    "not_a_file",
    "hard_linked",
    "too_large",
    "denied",
    "no_space",
    "read_only",
    "exhausted",
    "gone",
    "io",
]
"""The cause: first errors of the path, then of the file at that path, then of the machine."""

SYSTEM: Final[frozenset[Code]] = frozenset({"no_space", "read_only", "exhausted", "gone", "io"})
_FAILURES: Final[dict[int, tuple[Code, str]]] = {
    errno.ENOENT: ("not_found", "File not found"),
    errno.EEXIST: ("exists", "File already exists"),
    errno.EISDIR: ("is_directory", "Path is a directory. Name a file."),
    errno.ENOTEMPTY: ("is_directory", "Path is a directory. Name a file."),
    errno.ENOTDIR: ("not_a_directory", "Part of the path is not a directory"),
    errno.ELOOP: ("too_many_links", "Path leads through too many symbolic links"),
    errno.ENXIO: ("not_a_file", "Path is not a regular file"),
    errno.ENODEV: ("not_a_file", "Path is not a regular file"),
    errno.ENAMETOOLONG: ("bad_name", "Path is too long. Use shorter names."),
    errno.EILSEQ: ("bad_name", "Path has characters that the file system cannot store"),
    errno.EINVAL: ("bad_name", "Path has characters that the file system cannot store"),
    errno.EACCES: ("denied", "Permission denied"),
    errno.EPERM: ("denied", "Permission denied"),
    errno.EBUSY: ("denied", "Path is in use by the system"),
    errno.ETXTBSY: ("denied", "Path is in use by the system"),
    errno.EAGAIN: ("denied", "File is locked by another process. Try again later."),
    errno.EFBIG: ("too_large", "File is larger than the file system allows"),
    errno.ENOSPC: ("no_space", "No space is left for the workspace"),
    errno.EDQUOT: ("no_space", "The disk quota of the workspace is exceeded"),
    errno.EROFS: ("read_only", "The workspace is on a read-only file system"),
    errno.EMFILE: ("exhausted", "Too many files are open. Try again later."),
    errno.ENFILE: ("exhausted", "Too many files are open. Try again later."),
    errno.ENOMEM: ("exhausted", "The system is out of memory. Try again later."),
    errno.ESTALE: ("gone", "The workspace no longer exists"),
    errno.EBADF: ("gone", "The workspace is closed"),
}


class WorkspaceError(Exception):
    """Report that an operation on a workspace was refused or failed (H6).

    `text` is a message for an agent. It names no path outside of the root and quotes no file.
    """

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(code, text)
        self.code: Final[Code] = code
        self.text: Final = text

    @property
    def system(self) -> bool:
        """Whether the machine failed, so that the next operation fails too (H6)."""
        return self.code in SYSTEM

    @classmethod
    def of(cls, error: OSError) -> WorkspaceError:
        """Convert an OSError. An unknown errno counts as a failure of the machine (H6)."""
        code, text = _FAILURES.get(error.errno or 0, ("io", "The workspace could not be read or written"))
        return cls(code, text)
