"""Make, recognise and remove the directories of this program, and nothing that a link in their place leads to.

Only this module removes directories with their content. Others write to the places where they are: an agent to its
temporary directory, other users to `/tmp`. So nothing is looked up twice by a path: each directory is opened once,
never through a link, and what is within it is named by its descriptor. The guard imports this module without the
package, so it imports only `os` and `stat` (K8, N5, S10, Z9, Z10).
"""

from __future__ import annotations

import os
import stat

__all__ = ["is_own_directory", "make_directory", "make_private", "remove_empty", "remove_tree"]

_PRIVATE = 0o700
_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_directory(path: str | os.PathLike[str]) -> int:
    """Make a directory for its owner alone, whatever the umask is, and return its descriptor.

    Raise FileExistsError if the path exists, and OSError (S10).
    """
    os.mkdir(path, _PRIVATE)
    try:
        return _open(os.fspath(path), None)
    except OSError:
        os.rmdir(path)
        raise


def make_private(path: str | os.PathLike[str]) -> None:
    """Make a directory, and those above it that are missing, for its owner alone, whatever the umask is.

    Keep an existing one. Raise OSError (C22, Z9).
    """
    try:
        try:
            os.close(make_directory(path))
        except FileNotFoundError:
            above = os.path.dirname(path)
            if above in ("", path):
                raise
            make_private(above)
            os.close(make_directory(path))
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def remove_tree(path: str | os.PathLike[str]) -> None:
    """Remove a file, a link, or a directory with its content, whatever its permission bits are.

    A missing path is not an error. The directory that has the name is taken as it is, through links; below it no link
    is followed, and no other file system entered. Each directory is moved up to the top before it is emptied, so that
    no path is too long and no recursion too deep. After a kill, another call removes the rest. Raise the first OSError
    when all is removed that can be (Z10).
    """
    parent, name = os.path.split(os.fspath(path))
    above = os.open(parent or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if (top := _open_or_remove(name, above)) is not None:
            try:
                _empty(top)
            finally:
                os.close(top)
            os.rmdir(name, dir_fd=above)
    except FileNotFoundError:
        pass
    finally:
        os.close(above)


def remove_empty(path: str | os.PathLike[str], *files: str, within: int) -> bool:
    """Remove the files of a directory and then itself if it is empty; return whether it no longer exists.

    `within` is a descriptor of the directory, so that this needs no further one (S10).
    """
    try:
        for name in files:
            try:
                os.unlink(name, dir_fd=within)
            except FileNotFoundError:
                continue
        os.rmdir(path)
    except OSError:
        return not os.path.lexists(path)
    return True


def is_own_directory(path: str | os.PathLike[str]) -> bool:
    """Return whether this is a directory of this user, not a link to one, that no other user may enter."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == _PRIVATE


def _empty(top: int) -> None:
    device = os.fstat(top).st_dev
    waiting = os.listdir(top)
    failures: list[OSError] = []
    while waiting:
        name = waiting.pop()
        try:
            if (directory := _open_or_remove(name, top)) is not None:
                try:
                    # Where a file system is mounted, `rmdir` fails.
                    if os.fstat(directory).st_dev == device:
                        waiting += _moved_up(directory, top)
                finally:
                    os.close(directory)
                os.rmdir(name, dir_fd=top)
        except OSError as error:
            failures.append(error)
    if failures:
        raise failures[0]


def _moved_up(directory: int, top: int) -> list[str]:
    """Remove the files of a directory and move its directories to the top; return their new names."""
    moved: list[str] = []
    for name in os.listdir(directory):
        if (below := _open_or_remove(name, directory)) is not None:  # moving changes `..`, which needs write permission
            os.close(below)
            moved.append(os.urandom(8).hex())
            os.rename(name, moved[-1], src_dir_fd=directory, dst_dir_fd=top)
    return moved


def _open_or_remove(name: str, parent: int) -> int | None:
    """Return a descriptor of a directory that its owner may change, or remove anything else."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
        os.unlink(name, dir_fd=parent)
        return None
    return _open(name, parent)


def _open(name: str, parent: int | None) -> int:
    """Return a descriptor of a directory that its owner may change; with the bits for that, if they were missing."""
    try:
        directory = os.open(name, os.O_RDONLY | _DIRECTORY, dir_fd=parent)
    except PermissionError:
        place = os.open(name, os.O_PATH | _DIRECTORY, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{place}", _PRIVATE)
            directory = os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        finally:
            os.close(place)
    try:
        if os.fstat(directory).st_mode & _PRIVATE != _PRIVATE:
            os.fchmod(directory, _PRIVATE)
    except BaseException:
        os.close(directory)
        raise
    return directory
