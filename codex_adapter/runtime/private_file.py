"""Keep a file for one run: private to it, named by its mark, and gone with it (S10)."""

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
"""Seconds that the end of a run waits for the removal."""


@asynccontextmanager
async def private_file(mark: str, name: str, content: bytes) -> AsyncIterator[str]:
    """Write a file that only this user may read; give its path, and remove it on leaving (S10).

    Its directory is named by the run's mark. Raises `BackendError` (`io`).
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
    # Not by rmtree, which needs descriptors, and there may be none.
    with suppress(OSError):
        os.unlink(file)  # noqa: PTH108
    with suppress(OSError):
        file.parent.rmdir()


def _io_error() -> BackendError:
    advice = "Check that the temporary directory can be written to."
    return BackendError("io", advice=advice)


def left_directories() -> list[Path]:
    """Return the directories of runs on this machine whose adapter is gone and that no guard has removed (S10)."""
    with suppress(OSError):
        names = os.listdir(tempfile.gettempdir())  # noqa: PTH208 - names are all that is needed, and there are many
        return [
            Path(tempfile.gettempdir(), name) for name in names if is_of_this_boot(name) and is_left_directory(name)
        ]
    return []


def _write(file: Path, content: bytes) -> None:
    from codex_adapter.durable import write_new  # noqa: PLC0415 - few runs need it

    # Whatever the umask takes away is given back: the agent must be able to read, and no other user.
    file.parent.mkdir(0o700)
    file.parent.chmod(0o700)
    write_new(file, content)
