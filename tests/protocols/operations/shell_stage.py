"""Execute a text with dash, with stub programs in PATH that record their names and arguments."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

__all__ = ["STUBS", "Stage"]

STUBS = ("s0", "s1", "s2", "bad")
"""Programs of the stage; `bad` fails, the others tell their names on stdout."""
REAL = ("cat", "env", "find", "nice", "nohup", "setsid", "sh", "stdbuf", "timeout", "true", "xargs")
STUB = """\
#!/bin/sh
printf '%s\\0' "${{0##*/}}" "$@" >> "$NOTES/$$"
echo {name}
exit {status}
"""
PATIENCE = 4.0


class Stage:
    """Directories below `directory`, and the shell that executes; `written` are the files that the last text made."""

    def __init__(self, directory: Path, shell: str = "/bin/sh") -> None:
        self.programs = directory / "programs"
        self.programs.mkdir()
        self.notes = directory / "notes"
        self.place = directory / "place"
        self.written: set[str] = set()
        self.shell = shell
        for name in STUBS:
            stub = self.programs / name
            stub.write_text(STUB.format(name=name, status=int(name == "bad")))
            stub.chmod(0o755)
        for name in REAL:
            program = shutil.which(name)
            assert program is not None
            (self.programs / name).symlink_to(program)

    def executed(self, text: str) -> list[list[str]]:
        """The words of each stub that ran while the shell executed a text, for some seconds at most."""
        for directory in (self.notes, self.place):
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
        process = subprocess.Popen(
            [self.shell, "-c", text],
            cwd=self.place,
            env={"PATH": str(self.programs), "NOTES": str(self.notes), "x": "a b", "S": "s2", "HOME": "home"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_limit,  # noqa: PLW1509 - one thread
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.written = {path.name for path in self.place.rglob("*")} - {"nohup.out"}
        notes = [note.read_text() for note in self.notes.iterdir()]
        return [note.split("\0")[:-1] for note in notes if note]  # whoever was killed early may have written none


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
