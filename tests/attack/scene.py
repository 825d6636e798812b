"""Provide a directory in a surrounding and run the command line in it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from ..cli.command import ADAPTER, Cli, Done
from ..needs import missing
from ..runtime.survivors import Survivors
from .launch import SURROUNDINGS, Surrounding, user_of

__all__ = ["Scene", "launcher", "needs_surrounding", "scene_in"]

_PATIENCE: Final = 150.0
"""Seconds for a command; the longest limit of its own is that of `demo`, 120 seconds."""
_LAUNCH: Final = Path(__file__).with_name("launch.py")


def launcher(name: str, place: Path | str) -> tuple[str, ...]:
    """Return the words that go before a program to start it in this surrounding."""
    return (sys.executable, "-I", "-S", str(_LAUNCH), name, str(place))


class Scene:
    """A command line whose temporary files, home and state are in a place that the surrounding's user owns.

    `state` is the directory that is on a full disk where the surrounding has one.
    """

    def __init__(self, name: str, place: Path) -> None:
        self.name = name
        self.place = place
        self.cli = Cli(place)
        self.survivors = Survivors(place)
        self.user = user_of(name) or os.geteuid()
        self.state = place / "state"
        self.temporary = self.state / "tmp"
        for directory in (self.state, self.temporary, self.state / "home"):
            directory.mkdir()
        self.cli.env |= {"HOME": str(self.state / "home"), "TMPDIR": str(self.temporary), **self.survivors.env}

    @property
    def surrounding(self) -> Surrounding:
        """What is missing here."""
        return SURROUNDINGS[self.name]

    def prepare(self, *words: str, stdin: bytes = b"") -> Done:
        """Run a command outside of the surrounding, before what is tried in it."""
        done = self.cli.run(*words, stdin=stdin)
        assert done.status == 0, done
        return done

    def run(self, *words: str, stdin: bytes = b"", program: Sequence[str] = ADAPTER) -> Done:
        """Run a command in the surrounding, from its start to its end."""
        with self.start(*words, program=program) as process:
            try:
                stdout, stderr = process.communicate(stdin, _PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return Done(process.returncode, stdout, stderr.decode())

    def start(self, *words: str, program: Sequence[str] = ADAPTER, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command in the surrounding."""
        self._give_away()
        return self.cli.start(*program, *words, program=launcher(self.name, self.place), **options)

    def left(self) -> list[str]:
        """Return the names of processes and temporary files that the commands left."""
        processes = [process.argv for process in self.survivors.soon(2.0)]
        return processes + [path.name for path in self.temporary.iterdir()]

    def _give_away(self) -> None:
        user = user_of(self.name)
        if user is not None:
            for path in (self.place, *self.place.rglob("*")):
                os.chown(path, user, user, follow_symlinks=False)


@cache
def needs_surrounding(name: str) -> None:
    """Skip the test where this machine does not allow the surrounding."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "state").mkdir()
        done = subprocess.run([*launcher(name, place), "true"], check=False, capture_output=True, text=True)
    # A limit of processes may be too low for the first program already; what it does then is another test's matter.
    if done.returncode == 77:
        missing("root" if os.geteuid() else "system")


@contextmanager
def scene_in(name: str) -> Iterator[Scene]:
    """Give a scene in this surrounding and leave nothing of it; skip the test where this machine does not allow it."""
    needs_surrounding(name)
    # Not in pytest's own directory, which other users cannot enter.
    with tempfile.TemporaryDirectory(prefix="attack-") as directory:
        place = Path(directory)
        place.chmod(0o755)
        scene = Scene(name, place)
        yield scene
        scene.survivors.kill()
