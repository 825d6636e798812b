"""List the files of a workspace, up to a limit of names (H7)."""

from __future__ import annotations

import heapq
import os
import stat
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.paths import DEEPEST, is_temporary
from codex_adapter.workspace.tree import LOOK, Tree

__all__ = ["Entry", "Listing", "list_files"]

READABLE: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Entry(NamedTuple):
    """A regular file: its path relative to the root, and its size in bytes."""

    path: str
    size: int


class Listing(NamedTuple):
    """The files of a workspace, sorted by path (H7)."""

    files: tuple[Entry, ...]
    skipped: int
    """The number of skipped names, without symbolic links. Skipped are directories that are unreadable, too deep or on
    another mount, files with several hard links, special files, and names that are not UTF-8."""
    complete: bool
    """Whether the listing covers all names, so that the limit was not reached."""


def list_files(tree: Tree, *, limit: int, hard_links: bool, without: Collection[str] = ()) -> Listing:
    """Return the files below the root among `limit` names, without links and directories in `without`.

    Raises `WorkspaceError` if the root cannot be read, or if the machine fails (H1, H3, H7).
    """
    search = _Search(tree, limit, hard_links=hard_links, without=frozenset(f"{name}/".encode() for name in without))
    files = tuple(search.walk(tree.root, b"", DEEPEST))
    return Listing(files, search.skipped, search.left >= 0)


class _Search:
    def __init__(self, tree: Tree, limit: int, *, hard_links: bool, without: frozenset[bytes]) -> None:
        self.left = limit
        self.skipped = 0
        self._tree = tree
        self._hard_links = hard_links
        self._without = without

    def walk(self, parent: int, path: bytes, depth: int) -> Iterator[Entry]:
        """Yield the files depth first. A directory sorts as its name with a slash, as in the paths of its files."""
        for name in self._read_names(parent, is_root=not path):
            self.left -= 1
            if self.left < 0:
                return
            if name in self._without:
                continue
            try:
                yield from self._look_at(parent, path, name, depth)
            except FileNotFoundError:
                continue
            except (OSError, WorkspaceError) as error:
                failure = error if isinstance(error, WorkspaceError) else WorkspaceError.of(error)
                if failure.system:
                    raise failure from None
                self.skipped += 1

    def _look_at(self, parent: int, path: bytes, name: bytes, depth: int) -> Iterator[Entry]:
        descriptor = os.open(name.rstrip(b"/"), LOOK, dir_fd=parent)
        try:
            self._tree.check_mount(descriptor)
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode) and depth:
                yield from self.walk(descriptor, path + name, depth - 1)
            elif stat.S_ISREG(status.st_mode) and (status.st_nlink == 1 or self._hard_links):
                yield Entry((path + name).decode(), status.st_size)
            elif not stat.S_ISLNK(status.st_mode):
                self.skipped += 1
        except UnicodeDecodeError:
            self.skipped += 1
        finally:
            os.close(descriptor)

    def _read_names(self, parent: int, *, is_root: bool) -> list[bytes]:
        """Return at most one name more than the limit, so that a huge directory needs little memory."""
        try:
            directory = os.open(b".", READABLE, dir_fd=parent)
        except OSError as error:
            if is_root:
                raise WorkspaceError.of(error) from None
            raise
        try:
            with os.scandir(directory) as found:
                names = (
                    os.fsencode(entry.name) + (b"/" if entry.is_dir(follow_symlinks=False) else b"")
                    for entry in found
                    if not entry.is_symlink()
                )
                return heapq.nsmallest(self.left + 1, (name for name in names if not is_temporary(name)))
        finally:
            os.close(directory)
