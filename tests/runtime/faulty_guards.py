"""Define scenarios of a guard, and their expected ends for any failing system call."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = ["CALLS", "DAEMON", "ENDS", "ERRORS", "Guards", "Played", "guards", "has"]

PROGRAM: Final = Path(__file__).with_name("guard_faults.py")
ERRORS: Final = (
    *(errno.EINTR, errno.EAGAIN, errno.ECONNRESET, errno.EPIPE, errno.EPERM, errno.ESRCH),
    *(errno.ENOMEM, errno.EMFILE, errno.EIO),
)
CALLS: Final = (
    *("os.set_inheritable", "os.fork", "os.read", "os.write", "os.close", "os.open", "os.dup2", "os.pipe", "os.pipe2"),
    *("os.readlink", "os.setsid", "os.waitpid", "os.kill", "os.killpg", "os.pread", "os.listdir", "os.execv"),
    *("os.unlink", "os.rmdir", "signal.signal", "signal.pthread_sigmask", "signal.set_wakeup_fd"),
    *("poll.register", "poll.poll", "time.sleep", "libc.prctl", "libc.unshare", "libc.mount", "open"),
)
"""The system calls of a guard, as it makes them."""
DAEMON: Final = "(env -i setsid sh -c 'sleep 1000 & echo; exec sleep 1000' &) ; sleep 1000 & "
ENDS: Final[dict[str, tuple[str, list[list[str]]]]] = {
    "killed": (f"{DAEMON} exec sleep 1000", [["hear"], ["ready"], ["say", "4b"], ["hear"]]),
    "adapter gone": (f"{DAEMON} exec sleep 1000", [["hear"], ["ready"]]),
    "adapter gone with a message unread": (f"{DAEMON} exit 3", [["hear"], ["ready"], ["answer"]]),
    "adapter gone at once": (f"{DAEMON} exit 3", []),
    "agent ended by a signal": (f"{DAEMON} exec sleep 1000", [["hear"], ["ready"], ["say", "530f"], ["hear"]]),
}
"""By what happens: the agent's script, and the adapter's steps before it closes its socket."""


class Played(NamedTuple):
    """The kinds of messages heard, the guard's exit status, and how many processes it left.

    `left_then` are those at the instant of its exit; `left` those that did not go with it.
    """

    heard: str
    status: int
    left_then: int
    left: int


class Guards:
    """Plays scenarios with real guards."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def play(
        self,
        hold: str,
        script: str,
        steps: Sequence[Sequence[str]],
        fault: tuple[str, int, int, bool] | None,
        *,
        wait: float = 1.0,
    ) -> Played:
        """Play one scenario; a step waits so many seconds for what may never come."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([hold, script, steps, fault, wait]), file=self._process.stdin, flush=True)
        played: dict[str, Any] = json.loads(self._process.stdout.readline())
        return Played(**played)

    def check(
        self,
        hold: str,
        script: str,
        steps: Sequence[Sequence[str]],
        fault: tuple[str, int, int, bool] | None,
        *,
        wait: float = 1.0,
    ) -> Played:
        """Play one scenario and check what every guard promises: it ends, and leaves nothing.

        Only where no process can be killed at all may some be left, and the exit status must say so.
        """
        played = self.play(hold, script, steps, fault, wait=wait)
        told = f"{hold}, {script!r}, {steps}, {fault}: {played}"
        assert played.status in (0, 1), told
        if played.status == 0:
            assert played.left_then == 0, told
        if fault is None:
            assert played.status == 0, told
        if fault is None or fault[0] != "os.kill" or not fault[3]:
            assert played.left == 0, told
        return played


@contextmanager
def guards() -> Iterator[Guards]:
    """A program that plays scenarios."""
    with subprocess.Popen(
        [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Guards(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


def has(guards: Guards, hold: str) -> bool:
    """Whether this machine lets a guard hold a run in this way."""
    return guards.play(hold, "exit", [["hear"]], None, wait=60).heard == "P"
