"""What the adapter is given in place of the CLI: it becomes the CLI, with copies of its outputs kept in files.

It keeps its process id, so that every signal, status and limit of containment is the CLI's own. The copies are made
by two `tee` that the CLI does not know of, between its outputs and the adapter's pipes.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

__all__ = ["write_stand_in"]

# Named pipes, since the shell would leave others open in the CLI, and in what it starts. For the adapter, its stdout
# ends when all of its stderr has come as well: else the copier of that would be ended with the run.
PROGRAM = """#!/bin/sh
test "$1" = --version && exec {binary} --version
{{ tee {stderr} < {stderr}.pipe >&2 & tee {stdout} < {stdout}.pipe; wait; }} &
exec {binary} "$@" > {stdout}.pipe 2> {stderr}.pipe
"""


def write_stand_in(path: Path, binary: Path, *, stdout: Path, stderr: Path) -> None:
    """Write the program; it leaves everything that the CLI prints in the two files."""
    names = {"binary": binary, "stdout": stdout, "stderr": stderr}
    path.write_text(PROGRAM.format(**{name: shlex.quote(str(file)) for name, file in names.items()}))
    path.chmod(0o755)
    for file in (stdout, stderr):
        os.mkfifo(f"{file}.pipe")
