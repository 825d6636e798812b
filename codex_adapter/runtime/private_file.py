"""Keep the private files of one run in a directory with the run's mark, and remove it with the run (S10)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import Final

import trio

from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry, inquire
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
    async with _removed(mark, name, content) as directory:
        yield str(directory / name)


@asynccontextmanager
async def private_directory(mark: str) -> AsyncIterator[str]:
    """Create a directory that only this user may enter, yield its path, and remove it with its content on leaving.

    It is named by the run's mark. It is below `/tmp` if the path of the system's temporary directory is too long for
    sockets. Raise `BackendError` (`io`) (S10).
    """
    async with _removed(mark) as directory:
        yield str(directory)


@asynccontextmanager
async def _removed(mark: str, name: str | None = None, content: bytes = b"") -> AsyncIterator[Path]:
    """Make the directory of a run, with the file `name` or empty, yield its path, and remove all of it on leaving."""
    try:
        directory = await inquire(_make, directory_name(mark), name, content)
    except OSError:
        raise _io_error() from None
    try:
        yield directory
    finally:
        with trio.CancelScope(shield=True), suppress(BackendError):
            await inquire(_remove_in_thread, directory, name, seconds=_LAST_PATIENCE)


def _make(inquiry: Inquiry, directory_name: str, name: str | None, content: bytes) -> Path:
    inquiry.at("temporary directory", os.environ.get("TMPDIR") or _SHORT_PLACE)
    directory = Path(tempfile.gettempdir(), directory_name)
    if name is None and len(os.fsencode(directory)) > LONGEST_DIRECTORY:
        directory = Path(_SHORT_PLACE, directory_name)
    for left in left_directories():
        _remove(left)
    # The mode is set again, whatever the umask is: the agent must be able to enter it, and no other user.
    directory.mkdir(0o700)
    try:
        directory.chmod(0o700)
        if name is not None:
            _write(directory / name, content)
    except OSError:
        _remove(directory, name)
        raise
    if inquiry.abandoned:
        _remove(directory, name)
    return directory


def _remove_in_thread(inquiry: Inquiry, directory: Path, name: str | None) -> None:
    inquiry.at("temporary directory", str(directory))
    _remove(directory, name)


def _remove(directory: Path, name: str | None = None) -> None:
    # `rmtree` needs descriptors, which may have run out.
    if name is not None:
        with suppress(OSError):
            (directory / name).unlink()
    with suppress(OSError):
        directory.rmdir()
        return
    rmtree(directory, ignore_errors=True)
    if directory.is_dir():
        # A directory that its owner may not write to keeps its entries.
        for place, _, _ in os.walk(directory):
            with suppress(OSError):
                os.chmod(place, 0o700)  # noqa: PTH101 - the walk yields strings
        rmtree(directory, ignore_errors=True)


def _io_error() -> BackendError:
    advice = "The temporary directory cannot be written to. Check its permissions and its free space."
    return BackendError("io", advice=advice)


def left_directories() -> list[Path]:
    """Return the directories of dead adapters' runs on this machine that no guard has removed (S10)."""
    places = [_SHORT_PLACE]
    with suppress(OSError):
        places.append(tempfile.gettempdir())
    found: list[Path] = []
    for place in dict.fromkeys(places):
        with suppress(OSError):
            names = os.listdir(place)  # noqa: PTH208 - only names are needed, and there are many
            found += [Path(place, name) for name in names if is_of_this_boot(name) and is_left_directory(name)]
    return found


def _write(file: Path, content: bytes) -> None:
    from codex_adapter.durable import write_new  # noqa: PLC0415 - few runs need it

    write_new(file, content)
