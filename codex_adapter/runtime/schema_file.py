"""The file that hands an output schema to the agent: private to its run, and gone with it (S10)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

import msgspec

from codex_adapter.core.extensions import ExecOptions
from codex_adapter.errors import BackendError
from codex_adapter.runtime.marks import directory_name, is_left_directory

__all__ = ["left_directories", "schema_file"]


@contextmanager
def schema_file(options: ExecOptions, mark: str) -> Iterator[str | None]:
    """The path of a file with `options.output_schema`, None when there is none; removed on leaving.

    Its directory is named by the run's mark. Raises `BackendError` (`io`).
    """
    if options.output_schema is None:
        yield None
        return
    try:
        directory = Path(tempfile.gettempdir(), directory_name(mark))
    except OSError:
        raise _io_error() from None
    for left in left_directories():
        rmtree(left, ignore_errors=True)
    try:
        try:
            _write(directory, msgspec.json.encode(options.output_schema))
        except OSError:
            raise _io_error() from None
        yield str(directory / "output-schema.json")
    finally:
        # Not by rmtree, which needs descriptors, and there may be none.
        with suppress(OSError):
            os.unlink(directory / "output-schema.json")  # noqa: PTH108
        with suppress(OSError):
            directory.rmdir()


def _io_error() -> BackendError:
    advice = "Check that the temporary directory can be written to."
    return BackendError("io", advice=advice)


def left_directories() -> list[Path]:
    """The directories of runs whose adapter is gone and no guard has removed them."""
    with suppress(OSError):
        return [path for path in Path(tempfile.gettempdir()).iterdir() if is_left_directory(path.name)]
    return []


def _write(directory: Path, content: bytes) -> None:
    # Whatever the umask takes away is given back: the agent must be able to read, and nobody else.
    directory.mkdir(0o700)
    directory.chmod(0o700)
    descriptor = os.open(directory / "output-schema.json", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
