"""Become the CLI for the adapter, and store copies of its outputs in files.

The program keeps its process id, so that every signal, status and containment limit applies to the CLI. Two `tee`
processes between the CLI's outputs and the adapter's pipes make the copies. The CLI does not know of them.
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
echo $$ > {stdout}.pid
{{ tee {stderr} < {stderr}.pipe >&2 & tee {stdout} < {stdout}.pipe; wait; }} &
exec {binary} "$@" > {stdout}.pipe 2> {stderr}.pipe
"""


def write_stand_in(path: Path, binary: Path, *, stdout: Path, stderr: Path) -> None:
    """Write the program. It stores the CLI's outputs in the two files, and its process id in `stdout` with `.pid`."""
    names = {"binary": binary, "stdout": stdout, "stderr": stderr}
    path.write_text(PROGRAM.format(**{name: shlex.quote(str(file)) for name, file in names.items()}))
    path.chmod(0o755)
    for file in (stdout, stderr):
        os.mkfifo(f"{file}.pipe")
