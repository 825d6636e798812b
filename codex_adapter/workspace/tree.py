"""Walk a tree from descriptor to descriptor, without leaving it while other processes change it (H1)."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.paths import DEEPEST

__all__ = ["DIRECTORY", "LOOK", "Place", "Tree"]

MOST_LINKS: Final = 40
MOST_TRIES: Final = 40
LOOK: Final = os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
"""Flags that open a path without access to its content, if the system supports that."""
DIRECTORY: Final = LOOK | os.O_DIRECTORY


class Place(NamedTuple):
    """The place of a file, which may not exist: a name in an open directory, and the status when it was found.

    `path` has the names that lead there from the root, without links.
    """

    parent: int
    name: bytes
    status: os.stat_result | None
    path: tuple[bytes, ...] = ()


class Tree:
    """A root directory, which is known by its descriptor only (H1).

    Raises `WorkspaceError` if the root cannot be opened as a directory.
    """

    def __init__(self, root: str, *, mounts: bool) -> None:
        self.root = -1
        try:
            self.root = os.open(root, os.O_DIRECTORY | (LOOK & ~os.O_NOFOLLOW))
            self._mount = None if mounts else _read_mount(self.root)
        except OSError as error:
            self.close()
            raise WorkspaceError.of(error) from None

    def close(self) -> None:
        """Close the root. Later calls fail with `gone`; a second `close` does nothing."""
        root, self.root = self.root, -1
        if root >= 0:
            os.close(root)

    def check_mount(self, descriptor: int) -> None:
        """Raise `WorkspaceError` (`outside`) if a file is on another mount than the root (H3)."""
        if self._mount is not None and _read_mount(descriptor) != self._mount:
            raise WorkspaceError("outside", "Path leads to a file system other than the workspace's")

    @contextmanager
    def place(self, names: Sequence[str], *, make: bool = False, follow: bool = True) -> Iterator[Place]:
        """Find the file with these names, and follow links. Without `follow`, a link as the last name is not followed.

        With `make`, missing directories are created, and removed again if the body raises. Raises `WorkspaceError`
        (H1, H4, H5).
        """
        with _open_walk(self, make=make) as walk:
            place = walk.run(names, _FOLLOWED if follow else _LEFT)
            if place is None:
                raise WorkspaceError("is_directory", "Path is a directory. Name a file.")
            yield place

    @contextmanager
    def directory(self, names: Sequence[str]) -> Iterator[int]:
        """Open a directory and yield its descriptor. Raises `WorkspaceError` (H1)."""
        with _open_walk(self, make=False) as walk:
            walk.run(names, _ENTERED)
            yield walk.here

    def missing(self, what: str) -> WorkspaceError:
        """Return the error for a file that does not exist, or for a root that no longer exists (H6)."""
        with suppress(OSError):
            if os.fstat(self.root).st_nlink:
                return WorkspaceError("not_found", f"{what} not found")
        return WorkspaceError("gone", "The workspace no longer exists")


_ENTERED, _FOLLOWED, _LEFT = "entered", "followed", "left"
"""How to treat the last name: enter it as a directory, follow its links, or leave its links."""


class _Walk:
    """A walk through the tree: the descriptors from the root to the current directory."""

    def __init__(self, tree: Tree, *, make: bool) -> None:
        self._tree = tree
        self._make = make
        self._below: list[int] = []
        self._names: list[bytes] = []
        self._made: list[tuple[int, bytes]] = []
        self._links = 0

    @property
    def here(self) -> int:
        return self._below[-1] if self._below else self._tree.root

    def run(self, names: Sequence[str], last: str) -> Place | None:
        """Walk along the names. Return None if they lead to a directory that the walk has entered."""
        try:
            return self._run(names, last)
        except FileNotFoundError:
            raise self._tree.missing("Directory" if last == _ENTERED else "File") from None
        except OSError as error:
            raise WorkspaceError.of(error) from None

    def _run(self, names: Sequence[str], last: str) -> Place | None:
        ahead = [name.encode() for name in reversed(names)]
        while ahead:
            name = ahead.pop()
            if name in (b"", b"."):
                continue
            if name == b"..":
                self._leave()
            elif ahead or last == _ENTERED:
                ahead += self._enter(name)
            else:
                status = self._read_status(name)
                if status is None or last == _LEFT or not stat.S_ISLNK(status.st_mode):
                    return Place(self.here, name, status, (*self._names, name))
                ahead += self._read_target(name)
        return None

    def close(self) -> None:
        for descriptor in [*self._below, *(parent for parent, _ in self._made)]:
            os.close(descriptor)

    def unmake(self) -> None:
        """Remove the directories that were created, if they are empty."""
        for parent, name in reversed(self._made):
            with suppress(OSError):
                os.rmdir(name, dir_fd=parent)

    def _leave(self) -> None:
        if not self._below:
            raise WorkspaceError("outside", "Path leads out of the workspace")
        os.close(self._below.pop())
        self._names.pop()

    def _enter(self, name: bytes) -> list[bytes]:
        """Enter a directory; for a link, return the names that replace it."""
        for _ in range(MOST_TRIES):
            try:
                descriptor = os.open(name, DIRECTORY, dir_fd=self.here)
            except OSError as error:
                if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
                    return self._read_target(name)
                if error.errno != errno.ENOENT or not self._make:
                    raise
                self._mkdir(name)
            else:
                self._below.append(descriptor)
                self._names.append(name)
                self._tree.check_mount(descriptor)
                if len(self._below) > DEEPEST:
                    raise WorkspaceError("bad_name", f"Path is more than {DEEPEST} directories deep")
                return []
        raise WorkspaceError("not_found", "Another process keeps removing a directory of the path")

    def _mkdir(self, name: bytes) -> None:
        parent = os.dup(self.here)
        try:
            os.mkdir(name, 0o777, dir_fd=parent)
        except OSError as error:
            os.close(parent)
            if error.errno != errno.EEXIST:
                raise
        else:
            self._made.append((parent, name))

    def _read_status(self, name: bytes) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self.here, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _read_target(self, name: bytes) -> list[bytes]:
        """Return the names of a link's target, in reverse order."""
        self._links += 1
        if self._links > MOST_LINKS:
            raise WorkspaceError("too_many_links", "Path leads through too many symbolic links")
        try:
            target = os.readlink(name, dir_fd=self.here)
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise WorkspaceError("not_a_directory", "Part of the path is not a directory") from None
            raise
        if target.startswith(b"/"):
            raise WorkspaceError("outside", "Path leads out of the workspace by an absolute link")
        return target.split(b"/")[::-1]


@contextmanager
def _open_walk(tree: Tree, *, make: bool) -> Iterator[_Walk]:
    walk = _Walk(tree, make=make)
    try:
        yield walk
    except BaseException:
        walk.unmake()
        raise
    finally:
        walk.close()


def _read_mount(descriptor: int) -> bytes:
    """Return the number of the mount, or of the device if the system does not report mounts.

    The first way does not ask the file system, because a hostile file system may never answer.
    """
    with suppress(FileNotFoundError, PermissionError):
        information = os.open(b"/proc/self/fdinfo/%d" % descriptor, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _, found, rest = os.read(information, 4096).partition(b"mnt_id:")
        finally:
            os.close(information)
        if found:
            return rest.partition(b"\n")[0]
    return b"device %d" % os.fstat(descriptor).st_dev
