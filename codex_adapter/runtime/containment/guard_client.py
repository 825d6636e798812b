"""The adapter's side of a guard: start one, tell it what to do, hear how the agent ended (N1, N2)."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import trio

from codex_adapter.errors import BackendError
from codex_adapter.events import ExitStatus
from codex_adapter.runtime.containment.cgroup import Cgroup
from codex_adapter.runtime.containment.exits import open_pidfd, wait_for_exit
from codex_adapter.runtime.containment.kill_all import descendants, kill_until_none_is_found, log_left
from codex_adapter.runtime.containment.marks import kill_marked
from codex_adapter.runtime.descriptors import original_limit
from codex_adapter.runtime.exhaustion import is_shortage

__all__ = ["Guarded", "LevelUnavailable", "start_guarded"]

_GUARD: Final = str(Path(__file__).with_name("guard.py"))
_GUARD_PATIENCE: Final = 1.0


class LevelUnavailable(Exception):
    """The guard cannot hold a run in this way on this machine."""


async def start_guarded(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    pipes: Sequence[int],
    mark: str,
    hold: str,
    cgroup: Cgroup | None,
    file: str | None,
) -> Guarded:
    """Start a guard, and by it the agent on the three descriptors `pipes`; whatever happens, the cgroup is taken over.

    Raises OSError when the agent cannot be executed, `LevelUnavailable` when the run cannot be held like this.
    """
    guard = [sys.executable, "-I", "-S", *_bytecode(), _GUARD, hold, cgroup.path if cgroup else "", file or ""]
    guard.append(original_limit())
    try:
        guarded = _start_guard(guard, argv, env=env, cwd=cwd, pipes=pipes, mark=mark, cgroup=cgroup)
    except OSError as error:
        if cgroup is not None:
            with trio.CancelScope(shield=True):
                await cgroup.aclose()
        # What is too long, or passes, is no reason to do without guards from now on.
        if error.filename == sys.executable and error.errno != errno.E2BIG and not is_shortage(error):
            raise LevelUnavailable from None
        raise
    try:
        message = await guarded.hear()
    except BaseException:
        with trio.CancelScope(shield=True):
            await guarded.aclose()
        raise
    if message[:1] == b"P":
        return guarded
    with trio.CancelScope(shield=True):
        await guarded.aclose()
    if len(message) > 1:
        told = OSError(_number(message), "", argv[0])
        if message[:1] == b"E" or is_shortage(told):
            raise told
    raise LevelUnavailable


def _bytecode() -> list[str]:
    """What this process was told about the files of compiled modules, which `-I` keeps from the guard otherwise."""
    if sys.dont_write_bytecode:
        return ["-B"]
    return [] if sys.pycache_prefix is None else ["-X", f"pycache_prefix={sys.pycache_prefix}"]


def _start_guard(
    guard: Sequence[str],
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    pipes: Sequence[int],
    mark: str,
    cgroup: Cgroup | None,
) -> Guarded:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stdin, stdout, stderr = pipes
    with contextlib.ExitStack() as undo, theirs:
        undo.callback(ours.close)
        # From this thread, at once: the guard is to die with the thread that forked it, and this one stays.
        process = subprocess.Popen(
            [*guard, str(theirs.fileno()), *argv],
            env=env,
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        undo.callback(process.wait)
        undo.callback(process.kill)
        guarded = Guarded(process, ours, mark, cgroup)
        undo.pop_all()
    return guarded


class Guarded:
    """A guard, the agent that it started, and all that came of it."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, mark: str, cgroup: Cgroup | None
    ) -> None:
        control.setblocking(False)
        self._process = process
        self._control = control
        self._mark = mark
        self._cgroup = cgroup
        self._pidfd = open_pidfd(process.pid)

    async def hear(self) -> bytes:
        """The guard's next message; empty when the guard is gone."""
        while True:
            await trio.lowlevel.wait_readable(self._control)
            try:
                return self._control.recv(16)
            except (BlockingIOError, ConnectionResetError):
                # Reset is said once, when the guard left without hearing all; what it had said itself comes after.
                continue

    async def wait(self) -> ExitStatus:
        """As `Contained.wait`."""
        message = await self.hear()
        if message[:1] != b"X":
            # The guard was killed: what became of the agent nobody can tell.
            raise BackendError("wait")
        return ExitStatus.from_returncode(os.waitstatus_to_exitcode(_number(message)))

    def signal(self, number: signal.Signals) -> None:
        """As `Contained.signal`."""
        self._say(b"S" + bytes((number,)))

    def kill(self) -> None:
        """As `Contained.kill`."""
        self._say(b"K")

    async def aclose(self) -> None:
        """As `Contained.aclose`."""
        self._say(b"K")
        await self._wait_for_guard()
        if self._process.poll() != 0:
            # It was killed, or is stopped, or cannot kill all. A namespace ends with it; else the mark is what is left.
            found = await descendants(self._process.pid) if self._process.returncode is None else []
            self._process.kill()
            await kill_until_none_is_found(lambda: kill_marked(self._mark))
            await self._wait_for_guard()
            self._process.poll()
            if self._cgroup is not None:
                await self._cgroup.aclose()
            await log_left(self._mark, found)
        elif self._cgroup is not None:
            await self._cgroup.aclose()
        self._control.close()
        if self._pidfd is not None:
            os.close(self._pidfd)

    async def _wait_for_guard(self) -> None:
        """Wait for its exit for a bounded time, unless other code of this process has reaped it."""
        with trio.move_on_after(_GUARD_PATIENCE), contextlib.suppress(ChildProcessError):
            await wait_for_exit(self._process.pid, self._pidfd)

    def _say(self, message: bytes) -> None:
        # A guard that somebody has stopped would not hear it. Its group has no other member than its own forks.
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGCONT)
        with contextlib.suppress(OSError):  # it is gone, or hears nothing any more: `aclose` sees to that
            self._control.send(message)


def _number(message: bytes) -> int:
    return int(struct.unpack_from("=i", message, 1)[0])
