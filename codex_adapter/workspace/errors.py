"""Define the errors of a workspace, in words for an agent."""

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
"""The cause: first faults of the path, then of what was found there, then of the machine."""

SYSTEM: Final[frozenset[Code]] = frozenset({"no_space", "read_only", "exhausted", "gone", "io"})
_FAILURES: Final[dict[int, tuple[Code, str]]] = {
    errno.ENOENT: ("not_found", "File not found"),
    errno.EEXIST: ("exists", "File already exists"),
    errno.EISDIR: ("is_directory", "Path is a directory: name a file"),
    errno.ENOTEMPTY: ("is_directory", "Path is a directory: name a file"),
    errno.ENOTDIR: ("not_a_directory", "Part of the path is no directory"),
    errno.ELOOP: ("too_many_links", "Path leads through too many symbolic links"),
    errno.ENXIO: ("not_a_file", "Path is no regular file"),
    errno.ENODEV: ("not_a_file", "Path is no regular file"),
    errno.ENAMETOOLONG: ("bad_name", "Path is too long: use shorter names"),
    errno.EILSEQ: ("bad_name", "Path has characters that the file system cannot store"),
    errno.EINVAL: ("bad_name", "Path has characters that the file system cannot store"),
    errno.EACCES: ("denied", "Permission denied"),
    errno.EPERM: ("denied", "Permission denied"),
    errno.EBUSY: ("denied", "Path is in use by the system"),
    errno.ETXTBSY: ("denied", "Path is in use by the system"),
    errno.EAGAIN: ("denied", "File is held by another process: try again later"),
    errno.EFBIG: ("too_large", "File is larger than the file system allows"),
    errno.ENOSPC: ("no_space", "No space is left for the workspace"),
    errno.EDQUOT: ("no_space", "The quota of the workspace is used up"),
    errno.EROFS: ("read_only", "The workspace is on a read-only file system"),
    errno.EMFILE: ("exhausted", "Too many files are open: try again later"),
    errno.ENFILE: ("exhausted", "Too many files are open: try again later"),
    errno.ENOMEM: ("exhausted", "The system is out of memory: try again later"),
    errno.ESTALE: ("gone", "The workspace is gone"),
    errno.EBADF: ("gone", "The workspace is closed"),
}


class WorkspaceError(Exception):
    """An operation on a workspace was refused or failed; `text` may be shown to an agent (H6).

    `text` is one sentence that names no path outside of the root and holds nothing of a file's content.
    """

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(code, text)
        self.code: Final[Code] = code
        self.text: Final = text

    @property
    def system(self) -> bool:
        """Whether the machine failed, so that the next operation will fail too (H6)."""
        return self.code in SYSTEM

    @classmethod
    def of(cls, error: OSError) -> WorkspaceError:
        """Return the error for an error of the system; an unknown one counts as a failure of the machine (H6)."""
        code, text = _FAILURES.get(error.errno or 0, ("io", "The workspace could not be read or written"))
        return cls(code, text)
