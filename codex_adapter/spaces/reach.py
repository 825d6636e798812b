"""Decide what an agent could change that may write in some directories, whatever path leads there (Z11)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeAlias

from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.reading import real_path

__all__ = ["Reach"]

_MOST_LINKS: Final = 40
"""As many as the system follows."""
_MOUNTS: Final = Path("/proc/self/mountinfo")
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")
_Inode: TypeAlias = tuple[int, int]


class _Mount(NamedTuple):
    """A mount point, and which directory of which file system is mounted there."""

    point: Path
    device: str
    directory: Path


class Reach:
    """All that an agent can change, directly or by a link or a directory in its place.

    `roots` are the directories in which it may write; there are no links in their paths. `inodes` are theirs.
    """

    def __init__(self, roots: Iterable[Path], inodes: Iterable[_Inode] = ()) -> None:
        self.roots: Final = tuple(roots)
        self._inodes = frozenset(inodes)
        self._mounts = list(_mounts()) if self.roots else []
        self._places = [place for root in self.roots for place in self._names(root)]

    @classmethod
    def into(cls, directories: Iterable[str | Path]) -> Self:
        """Look the directories up. Raises `SpaceError`."""
        roots = tuple(dict.fromkeys(real_path(directory, "a directory of the agent") for directory in directories))
        return cls(roots, filter(None, map(_inode, roots)))

    def covers(self, path: str | Path) -> bool:
        """Whether what is found by this path, or anything in it, could be changed. Raises `SpaceError`.

        Each name on the way counts, before links are followed: a name in a directory that an agent may write to can
        lead elsewhere tomorrow.
        """
        if not self.roots:
            return False
        last = Path(path)
        for last in _names_on_the_way(Path(path)):
            if self._is_inside(last):
                return True
        within = [mount.point for mount in self._mounts if mount.point.is_relative_to(last)]
        return any(map(self._is_inside, within)) or any(
            root.is_relative_to(name)
            for place in (last, *within)
            for name in self._names(place)
            for root in self._places
        )

    def _is_inside(self, path: Path) -> bool:
        if any(name.is_relative_to(root) for name in self._names(path) for root in self._places):
            return True
        # A file system that does not mind the case knows a directory by more names.
        return bool(self._inodes) and any(_inode(directory) in self._inodes for directory in (path, *path.parents))

    def _names(self, path: Path) -> Iterator[Path]:
        """The path, and where it is in its file system, as which a second mount of a directory is the same."""
        yield path
        for mount in reversed(self._mounts):
            if path.is_relative_to(mount.point):
                yield Path("//", mount.device, mount.directory.relative_to("/"), path.relative_to(mount.point))
                return


def _names_on_the_way(path: Path) -> Iterator[Path]:
    """Each name that the system looks up for an absolute path, in a directory whose own path has no links."""
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
            raise SpaceError("its path has too many links; use the directory that they lead to")
        if target.is_absolute():
            here = Path("/")
        waiting.extend(part for part in reversed(target.parts) if part != "/")


def _inode(path: Path) -> _Inode | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _mounts() -> Iterator[_Mount]:
    """The mounts, each behind those that it covers; none where the system does not tell them."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        fields = os.fsdecode(line).split(" ")
        if len(fields) > 4 and fields[3].startswith("/"):
            yield _Mount(Path(_plain(fields[4])), fields[2], Path(_plain(fields[3])))


def _plain(field: str) -> str:
    """A path of the list, in which spaces and the like are octal."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), field)
