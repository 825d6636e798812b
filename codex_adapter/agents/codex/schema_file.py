"""The file that hands an output schema to the agent: private to its run, and gone with it (S10)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import Final

import msgspec
import trio

from codex_adapter.agents.codex.extensions import ExecOptions
from codex_adapter.durable import write_new
from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry, inquire
from codex_adapter.runtime.containment.marks import directory_name, is_left_directory, is_of_this_boot

__all__ = ["left_directories", "schema_file"]

_LAST_PATIENCE: Final = 2.0
"""Seconds that the end of a run waits for the removal."""


@asynccontextmanager
async def schema_file(options: ExecOptions, mark: str) -> AsyncIterator[str | None]:
    """The path of a file with `options.output_schema`, None when there is none; removed on leaving.

    Its directory is named by the run's mark. Raises `BackendError` (`io`).
    """
    if options.output_schema is None:
        yield None
        return
    try:
        directory = await inquire(_make, directory_name(mark), msgspec.json.encode(options.output_schema))
    except OSError:
        raise _io_error() from None
    try:
        yield str(directory / "output-schema.json")
    finally:
        with trio.CancelScope(shield=True), suppress(BackendError):
            await inquire(_remove_in_thread, directory, seconds=_LAST_PATIENCE)


def _make(inquiry: Inquiry, name: str, content: bytes) -> Path:
    inquiry.at("temporary directory", os.environ.get("TMPDIR") or "/tmp")  # noqa: S108
    directory = Path(tempfile.gettempdir(), name)
    for left in left_directories():
        rmtree(left, ignore_errors=True)
    try:
        _write(directory, content)
    except OSError:
        _remove(directory)
        raise
    if inquiry.abandoned:
        _remove(directory)
    return directory


def _remove_in_thread(inquiry: Inquiry, directory: Path) -> None:
    inquiry.at("temporary directory", str(directory))
    _remove(directory)


def _remove(directory: Path) -> None:
    # Not by rmtree, which needs descriptors, and there may be none.
    with suppress(OSError):
        os.unlink(directory / "output-schema.json")  # noqa: PTH108
    with suppress(OSError):
        directory.rmdir()


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


def _write(directory: Path, content: bytes) -> None:
    # Whatever the umask takes away is given back: the agent must be able to read, and nobody else.
    directory.mkdir(0o700)
    directory.chmod(0o700)
    write_new(directory / "output-schema.json", content)
