"""Keep a private file for one run, in a directory with the run's mark, and remove it with the run (S10)."""

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

__all__ = ["left_directories", "private_file"]

_LAST_PATIENCE: Final = 2.0
"""The limit in seconds of the removal at the end of a run."""


@asynccontextmanager
async def private_file(mark: str, name: str, content: bytes) -> AsyncIterator[str]:
    """Write a file that only this user may read, yield its path, and remove it on leaving.

    Its directory is named by the run's mark. Raise `BackendError` (`io`) (S10).
    """
    try:
        file = await inquire(_make, directory_name(mark), name, content)
    except OSError:
        raise _io_error() from None
    try:
        yield str(file)
    finally:
        with trio.CancelScope(shield=True), suppress(BackendError):
            await inquire(_remove_in_thread, file, seconds=_LAST_PATIENCE)


def _make(inquiry: Inquiry, directory_name: str, name: str, content: bytes) -> Path:
    inquiry.at("temporary directory", os.environ.get("TMPDIR") or "/tmp")  # noqa: S108
    file = Path(tempfile.gettempdir(), directory_name, name)
    for left in left_directories():
        rmtree(left, ignore_errors=True)
    try:
        _write(file, content)
    except OSError:
        _remove(file)
        raise
    if inquiry.abandoned:
        _remove(file)
    return file


def _remove_in_thread(inquiry: Inquiry, file: Path) -> None:
    inquiry.at("temporary directory", str(file.parent))
    _remove(file)


def _remove(file: Path) -> None:
    # `rmtree` would need descriptors, which may have run out.
    with suppress(OSError):
        os.unlink(file)  # noqa: PTH108
    with suppress(OSError):
        file.parent.rmdir()


def _io_error() -> BackendError:
    advice = "The temporary directory cannot be written to. Check its permissions and its free space."
    return BackendError("io", advice=advice)


def left_directories() -> list[Path]:
    """Return the directories of dead adapters' runs on this machine that no guard has removed (S10)."""
    with suppress(OSError):
        names = os.listdir(tempfile.gettempdir())  # noqa: PTH208 - only names are needed, and there are many
        return [
            Path(tempfile.gettempdir(), name) for name in names if is_of_this_boot(name) and is_left_directory(name)
        ]
    return []


def _write(file: Path, content: bytes) -> None:
    from codex_adapter.durable import write_new  # noqa: PLC0415 - few runs need it

    # The mode is set again, whatever the umask is: the agent must be able to read the file, and no other user.
    file.parent.mkdir(0o700)
    file.parent.chmod(0o700)
    write_new(file, content)
