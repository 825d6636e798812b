"""Read, write, edit and delete files of a workspace."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Self

from codex_adapter.agent_places import AgentPlaces
from codex_adapter.workspace import atomic_write
from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.listing import Listing, list_files
from codex_adapter.workspace.paths import split_file_path, split_path
from codex_adapter.workspace.steering_files import find_own_programs, is_below, list_steering_names, refuse_steering
from codex_adapter.workspace.tree import Place, Tree

__all__ = ["Workspace"]

CHUNK: Final = 1 << 16
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOST_OPENS: Final = 10
"""How often a file is opened whose name was replaced meanwhile."""


class Workspace:
    """The files below one directory, for an agent that is not trusted.

    Paths are relative to the root; sizes are in bytes. Every failure is a `WorkspaceError`, except errors that the
    caller's `pieces` or `change` raises. Calls block. Use a workspace from one thread at a time, and close it, or use
    it as a context manager.

    `root` is an existing directory, opened once. `agents` are the agents whose settings must not change. With
    `hard_links`, files with several names can be read too. With `mounts`, other file systems that are mounted below
    the root can be entered too. `hidden` are absolute paths of files and directories that can be neither read nor
    changed (H1, H2, H3, H6, H14, H15).
    """

    root: Final[str]
    """The absolute path by which the root was opened. Operations use the descriptor, not this path."""
    steering: Final[frozenset[str]]
    """The names of files that no operation changes, because other programs obey these files (H15)."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        agents: Sequence[AgentPlaces],
        hard_links: bool = False,
        mounts: bool = False,
        hidden: Collection[str] = (),
    ) -> None:
        self.root = str(Path(root).absolute())
        real = os.path.realpath(self.root)
        self.steering = list_steering_names(agents)
        self._hidden = _find_below(real, map(os.path.realpath, hidden))
        self._programs = _find_below(real, find_own_programs(real))
        self._hard_links = hard_links
        self._tree = Tree(self.root, mounts=mounts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the root; later calls fail with `gone`."""
        self._tree.close()

    def read(self, path: str, *, limit: int) -> bytes:
        """Return the content of a file of at most `limit` bytes; links inside the root are followed (H1, H3, H7)."""
        with self._tree.place(split_file_path(path)) as place, self._open_regular(place, limit) as (descriptor, status):
            return _read_content(descriptor, status.st_size, limit)

    def digest(self, path: str, *, limit: int) -> bytes | None:
        """Return the SHA-256 of a file's content, None if the file does not exist (H7)."""
        try:
            with self._tree.place(split_file_path(path)) as place, self._open_regular(place, limit) as (descriptor, _):
                return _compute_digest(descriptor, limit)
        except WorkspaceError as error:
            if error.code == "not_found":
                return None
            raise

    def has(self, path: str) -> bool:
        """Return whether the name exists, even as a dangling link (H1)."""
        try:
            with self._tree.place(split_file_path(path), follow=False) as place:
                return place.status is not None
        except WorkspaceError as error:
            if error.code == "not_found":
                return False
            raise

    def write(self, path: str, pieces: Iterable[bytes], *, overwrite: bool, limit: int) -> int:
        """Write a file, create its directories, and return its size (H4, H5, H7).

        `pieces` are read one by one. Their exceptions pass through, and then no temporary file is left. The error is
        `exists` if the name exists and `overwrite` is false, and `too_large` for more than `limit` bytes.
        """
        names = split_file_path(path)
        refuse_steering(names, self.steering)
        with self._tree.place(names, make=True) as place:
            self._check_change(place)
            if place.status is not None:
                _check_regular(place.status)
                if not overwrite:
                    raise WorkspaceError("exists", "File already exists")
            return atomic_write.write_file(self._tree, place, pieces, overwrite=overwrite, limit=limit)

    def replace(self, path: str, change: Callable[[bytes], bytes], *, limit: int) -> None:
        """Replace a file's content by the result of `change`, which gets the old content.

        Exceptions of `change` pass through. `limit` applies to the old and the new content. Writes by other processes
        at the same time are lost (H3, H4, H5, H7).
        """
        with self._tree.place(split_file_path(path)) as place:
            self._check_change(place)
            with self._open_regular(place, limit) as (descriptor, status):
                content = _read_content(descriptor, status.st_size, limit)
            atomic_write.write_file(
                self._tree, place._replace(status=status), [change(content)], overwrite=True, limit=limit
            )

    def delete(self, path: str) -> None:
        """Remove a file, but not a directory. Of a symbolic link or several hard links, remove only this link (H3)."""
        with self._tree.place(split_file_path(path), follow=False) as place:
            self._check_change(place)
            if place.status is None:
                raise self._tree.missing("File")
            if stat.S_ISDIR(place.status.st_mode):
                raise WorkspaceError("is_directory", "Path is a directory. Only files can be deleted.")
            try:
                os.unlink(place.name, dir_fd=place.parent)
            except FileNotFoundError:
                raise self._tree.missing("File") from None
            except OSError as error:
                raise WorkspaceError.of(error) from None

    def sweep(self, path: str) -> None:
        """Remove the temporary files that killed writers of this path left. No process may write the path now (H4)."""
        try:
            with self._tree.place(split_file_path(path)) as place:
                atomic_write.remove_temporary_files(place)
        except WorkspaceError as error:
            if error.code != "not_found":
                raise

    def entries(self, *, limit: int, without: Collection[str] = ()) -> Listing:
        """Return the readable files, sorted by path. Look at `limit` names at most (H7).

        Directories with a name in `without` are skipped at any depth, and count as one name each.
        """
        return list_files(self._tree, limit=limit, hard_links=self._hard_links, without=without)

    @contextmanager
    def directory(self, path: str = "") -> Iterator[int]:
        """Open a directory and yield its descriptor for `dir_fd`, `fchdir` and /proc/self/fd (H1).

        If the system supports it, opening needs no read permission, and the descriptor cannot read the directory.
        """
        with self._tree.directory(split_path(path)) as descriptor:
            yield descriptor

    def _check_change(self, place: Place) -> None:
        """Raise `WorkspaceError` for a file that steers programs outside of the sandbox, or is part of them (H15)."""
        refuse_steering(map(os.fsdecode, place.path), self.steering)
        if _is_in(place, self._programs):
            problem = "Path leads to the program that executes operations, which they must not change"
            raise WorkspaceError("denied", f"{problem}. Install the program outside of the workspace.")
        self._check_hidden(place)

    def _check_hidden(self, place: Place) -> None:
        if _is_in(place, self._hidden):
            raise WorkspaceError("denied", "Path leads to secrets, which are hidden. Do without them.")

    @contextmanager
    def _open_regular(self, place: Place, limit: int) -> Iterator[tuple[int, os.stat_result]]:
        """Open a regular file for reading, and yield its descriptor and status (H3)."""
        if place.status is None:
            raise self._tree.missing("File")
        self._check_hidden(place)
        _check_regular(place.status)  # Devices are never opened.
        descriptor, status = self._open_checked(place)
        try:
            self._tree.check_mount(descriptor)
            if status.st_size > limit:
                raise _too_large(limit)
            yield descriptor, status
        except OSError as error:
            raise WorkspaceError.of(error) from None
        finally:
            os.close(descriptor)

    def _open_checked(self, place: Place) -> tuple[int, os.stat_result]:
        """Open a regular file that has no other name by a hard link, and return its descriptor and status (H3).

        If the name in the place is replaced meanwhile, the opened file may have its only name outside of the root. The
        place is then opened again.
        """
        for _ in range(_MOST_OPENS):
            with ExitStack() as unwanted:
                try:
                    descriptor = os.open(place.name, READ, dir_fd=place.parent)
                    unwanted.callback(os.close, descriptor)
                    status = os.fstat(descriptor)
                    allowed = self._hard_links or _has_no_other_name(place, descriptor, status)
                except FileNotFoundError:
                    raise self._tree.missing("File") from None
                except OSError as error:
                    raise WorkspaceError.of(error) from None
                _check_regular(status)
                if allowed:
                    unwanted.pop_all()
                    return descriptor, status
            if status.st_nlink > 1:
                break
        raise WorkspaceError("hard_linked", "File has several hard links. Make a copy of it first.")


def _find_below(root: str, paths: Iterable[str]) -> tuple[tuple[bytes, ...], ...]:
    """Return, for each path in the root, the names that lead from the root to it."""
    inside = (os.fsencode(path[len(root) :]) for path in paths if is_below(path, root))
    return tuple(tuple(path.strip(b"/").split(b"/")) for path in inside)


def _is_in(place: Place, tops: Iterable[tuple[bytes, ...]]) -> bool:
    return any(place.path[: len(top)] == top for top in tops)


def _has_no_other_name(place: Place, descriptor: int, status: os.stat_result) -> bool:
    """Return whether the place is the only name of an opened file, which has the status `status`.

    A link that was made or removed between the calls shows in the number of links or in the time of the change.
    """
    if status.st_nlink != 1:
        return status.st_nlink == 0
    try:
        named = os.stat(place.name, dir_fd=place.parent, follow_symlinks=False)
    except OSError:
        return False
    again = os.fstat(descriptor)
    return (
        os.path.samestat(named, again)
        and named.st_nlink == again.st_nlink == 1
        and named.st_ctime_ns == again.st_ctime_ns == status.st_ctime_ns
    )


def _check_regular(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise WorkspaceError("is_directory", "Path is a directory. Name a file.")
    if not stat.S_ISREG(status.st_mode):
        raise WorkspaceError("not_a_file", "Path is not a regular file")


def _read_content(descriptor: int, size: int, limit: int) -> bytes:
    """Return the content of a file: by one read without a copy, and by more reads if the file grows meanwhile."""
    content = os.read(descriptor, size + 1)
    while len(content) <= limit and (more := os.read(descriptor, min(CHUNK, limit + 1 - len(content)))):
        content += more
    if len(content) > limit:
        raise _too_large(limit)
    return content


def _compute_digest(descriptor: int, limit: int) -> bytes:
    digest, size = hashlib.sha256(), 0
    while chunk := os.read(descriptor, CHUNK):
        digest.update(chunk)
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
    return digest.digest()


def _too_large(limit: int) -> WorkspaceError:
    return WorkspaceError("too_large", f"File is larger than {limit} bytes")
