"""Decide which files an agent could change by any path if it may write to some directories (Z11)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeAlias

from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.file_readers import resolve_path

__all__ = ["Reach"]

_MOST_LINKS: Final = 40
"""The limit of the system."""
_MOUNTS: Final = Path("/proc/self/mountinfo")
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")
_Inode: TypeAlias = tuple[int, int]


class _Mount(NamedTuple):
    """A mount point, and the directory of the file system that is mounted there."""

    point: Path
    device: str
    directory: Path


class Reach:
    """The files that an agent can change: directly, or by replacing a directory on the way to them.

    `roots` are the directories where it may write, without links in their paths. `inodes` are the inodes of `roots`.
    """

    def __init__(self, roots: Iterable[Path], inodes: Iterable[_Inode] = ()) -> None:
        self.roots: Final = tuple(roots)
        self._inodes = frozenset(inodes)
        self._mounts = list(_read_mounts()) if self.roots else []
        self._places = [place for root in self.roots for place in self._list_names(root)]

    @classmethod
    def into(cls, directories: Iterable[str | Path]) -> Self:
        """Return the reach of an agent that may write to these directories. Raises `SpaceError`."""
        roots = tuple(dict.fromkeys(resolve_path(directory, "a directory of the agent") for directory in directories))
        return cls(roots, filter(None, map(_read_inode, roots)))

    def covers(self, path: str | Path) -> bool:
        """Return whether the file at this path, or a file below it, could be changed. Raises `SpaceError`.

        Each name on the way counts, also each link, because the agent can replace any name in its directories.
        """
        if not self.roots:
            return False
        last = Path(path)
        for last in _walk_names(Path(path)):
            if self._is_inside(last):
                return True
        within = [mount.point for mount in self._mounts if mount.point.is_relative_to(last)]
        return any(map(self._is_inside, within)) or any(
            root.is_relative_to(name)
            for place in (last, *within)
            for name in self._list_names(place)
            for root in self._places
        )

    def _is_inside(self, path: Path) -> bool:
        if any(name.is_relative_to(root) for name in self._list_names(path) for root in self._places):
            return True
        # On a file system that ignores case, a directory has more names.
        return bool(self._inodes) and any(_read_inode(directory) in self._inodes for directory in (path, *path.parents))

    def _list_names(self, path: Path) -> Iterator[Path]:
        """Yield the path, and the place in its file system, which is the same for all mounts of a directory."""
        yield path
        for mount in reversed(self._mounts):
            if path.is_relative_to(mount.point):
                yield Path("//", mount.device, mount.directory.relative_to("/"), path.relative_to(mount.point))
                return


def _walk_names(path: Path) -> Iterator[Path]:
    """Yield the path of each name that the system looks up for an absolute path, without links before that name."""
    here, waiting, links = Path("/"), list(reversed(path.parts[1:])), 0
    yield here
    while waiting:
        name = waiting.pop()
        if name == "..":
            here = here.parent
            yield here
            continue
        found = here / name
        yield found
        try:
            target = Path(os.readlink(found))  # noqa: PTH115 - the method of Path is the same
        except (OSError, ValueError):
            here = found
            continue
        links += 1
        if links > _MOST_LINKS:
            raise SpaceError("its path has too many links. Use the directory that they lead to.")
        if target.is_absolute():
            here = Path("/")
        waiting.extend(part for part in reversed(target.parts) if part != "/")


def _read_inode(path: Path) -> _Inode | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _read_mounts() -> Iterator[_Mount]:
    """Yield the mounts in an order where later ones cover earlier ones. Yield none if the system lists no mounts."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        fields = os.fsdecode(line).split(" ")
        if len(fields) > 4 and fields[3].startswith("/"):
            yield _Mount(Path(_unescape(fields[4])), fields[2], Path(_unescape(fields[3])))


def _unescape(field: str) -> str:
    """Decode a path from the list, where spaces and some other characters are octal escapes."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), field)
