"""Keep the private files of one run in a directory with the run's mark, and remove it with the run (S10)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import trio

from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry, inquire
from codex_adapter.own_directories import is_own_directory, make_directory, remove_empty, remove_tree
from codex_adapter.runtime.containment.marks import directory_name, is_left_directory, is_of_this_boot

__all__ = ["LONGEST_DIRECTORY", "left_directories", "private_directory", "private_file"]

_LAST_PATIENCE: Final = 2.0
"""The limit in seconds of the removal at the end of a run."""
LONGEST_DIRECTORY: Final = 72
"""The bytes of a directory's path in which programs can create sockets with names of up to 34 bytes."""
_SHORT_PLACE: Final = "/tmp"  # noqa: S108 - for a directory that only this user may enter


@asynccontextmanager
async def private_file(mark: str, name: str, content: bytes) -> AsyncIterator[str]:
    """Write a file that only this user may read, yield its path, and remove it on leaving.

    Its directory is named by the run's mark. Raise `BackendError` (`io`) (S10).
    """
    async with _removed(mark, (name, content)) as directory:
        yield str(directory / name)


@asynccontextmanager
async def private_directory(mark: str) -> AsyncIterator[str]:
    """Create a directory that only this user may enter, yield its path, and remove it with its content on leaving.

    It is named by the run's mark. It is below `/tmp` if the path of the system's temporary directory is too long for
    sockets. Raise `BackendError` (`io`) (S10).
    """
    async with _removed(mark) as directory:
        yield str(directory)


class _Made(NamedTuple):
    """A directory of a run: its path, its descriptor, and the names of our files in it."""

    path: Path
    descriptor: int
    files: tuple[str, ...]

    def remove(self) -> None:
        """Remove it with its content.

        If it contains only our files, this needs no further descriptor, because descriptors may have run out.
        """
        try:
            if not remove_empty(self.path, *self.files, within=self.descriptor):
                with suppress(OSError):
                    remove_tree(self.path)
        finally:
            os.close(self.descriptor)


@asynccontextmanager
async def _removed(mark: str, *files: tuple[str, bytes]) -> AsyncIterator[Path]:
    """Make the directory of a run with these files, yield its path, and remove all of it on leaving."""
    try:
        made = await inquire(_make, directory_name(mark), files)
    except OSError:
        raise _io_error() from None
    try:
        yield made.path
    finally:
        with trio.CancelScope(shield=True), suppress(BackendError):
            await inquire(_remove_in_thread, made, seconds=_LAST_PATIENCE)


def _make(inquiry: Inquiry, directory_name: str, files: tuple[tuple[str, bytes], ...]) -> _Made:
    inquiry.at("temporary directory", os.environ.get("TMPDIR") or _SHORT_PLACE)
    directory = Path(tempfile.gettempdir(), directory_name)
    if not files and len(os.fsencode(directory)) > LONGEST_DIRECTORY:
        directory = Path(_SHORT_PLACE, directory_name)
    for left in left_directories():
        with suppress(OSError):
            remove_tree(left)
    made = _Made(directory, make_directory(directory), tuple(name for name, _ in files))
    try:
        for name, content in files:
            _write(directory / name, content)
    except OSError:
        made.remove()
        raise
    if inquiry.abandoned:
        made.remove()
    return made


def _remove_in_thread(inquiry: Inquiry, made: _Made) -> None:
    inquiry.at("temporary directory", str(made.path))
    made.remove()


def _io_error() -> BackendError:
    advice = "The temporary directory cannot be written to. Check its permissions and its free space."
    return BackendError("io", advice=advice)


def left_directories() -> list[Path]:
    """Return the directories of dead adapters' runs on this machine that no guard has removed (S10).

    A name proves nothing, because an agent knows it and others can guess it: everything but a directory of this
    user alone is left as it is.
    """
    places = [_SHORT_PLACE]
    with suppress(OSError):
        places.append(tempfile.gettempdir())
    found: list[Path] = []
    for place in dict.fromkeys(places):
        with suppress(OSError):
            names = os.listdir(place)  # noqa: PTH208 - only names are needed, and there are many
            named = [Path(place, name) for name in names if is_of_this_boot(name) and is_left_directory(name)]
            found += filter(is_own_directory, named)
    return found


def _write(file: Path, content: bytes) -> None:
    from codex_adapter.durable import write_new  # noqa: PLC0415 - few runs need it

    write_new(file, content)
