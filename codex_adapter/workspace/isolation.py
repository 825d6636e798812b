"""Keep programs outside of the sandbox from using files of the workspace (H15)."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codex_adapter.runtime.containment.marks import directory_name, new_mark
from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.steering_files import find_own_programs, is_below

__all__ = [
    "create_empty_directory",
    "is_inside",
    "is_replaceable",
    "isolate_environment",
    "name_empty_directory",
    "seal_imports",
]

_SEARCHED: Final = ("PATH", "PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD")
"""Variables with search paths for programs, libraries and modules."""


def is_inside(path: str, workspace: str) -> bool:
    """Return whether `path`, with its links followed, is the workspace or in it."""
    real, root = os.path.realpath(path), os.path.realpath(workspace)
    return real == root or is_below(real, root)


def is_replaceable(program: str, workspace: str) -> bool:
    """Return whether commands in the workspace could replace a program. Files of this program are protected (H15)."""
    real, root = os.path.realpath(program), os.path.realpath(workspace)
    return is_inside(program, workspace) and not any(is_below(real, own) for own in find_own_programs(root))


def seal_imports(workspace: str) -> None:
    """Remove the workspace from `sys.path`, except for the modules of this program and its Python (H15)."""
    sys.path[:] = [entry for entry in sys.path if not is_replaceable(entry or ".", workspace)]


def name_empty_directory() -> str:
    """Return a new name for `create_empty_directory`, which marks it as a directory of the adapter (N5)."""
    return directory_name(new_mark())


@contextmanager
def create_empty_directory(workspace: str, name: str) -> Iterator[str]:
    """Create an empty directory with this name outside of the workspace, and remove it after the body.

    Raises `WorkspaceError` (N5, H15).
    """
    try:
        place = tempfile.gettempdir()
        if is_inside(place, workspace):
            problem = "The temporary directory is in the workspace, where commands can change it"
            raise WorkspaceError("denied", f"{problem}. Set TMPDIR to a directory outside of the workspace.")
        directory = Path(place, name)
        directory.mkdir(0o700)
    except OSError:
        raise WorkspaceError("io", "The temporary directory cannot be written to. Set TMPDIR to another one.") from None
    try:
        yield str(directory)
    finally:
        with suppress(OSError):
            directory.rmdir()


def isolate_environment(environ: Mapping[str, str], workspace: str) -> dict[str, str]:
    """Return `environ` without the entries of search paths that are relative or lead into the workspace (H15)."""
    env = dict(environ)
    for name in _SEARCHED:
        if name in env:
            env[name] = _filter_path(env[name], workspace)
    if not env.get("PATH", "."):
        env["PATH"] = os.defpath
    return env


def _filter_path(path: str, workspace: str) -> str:
    """Return a search path without its entries that are relative or lead into the workspace (H15)."""
    entries = path.split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if entry.startswith("/") and not is_inside(entry, workspace))
