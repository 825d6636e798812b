"""Start a guard, send it commands and receive the agent's end: the adapter's side of a guard (N1, N2)."""

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
    """This machine does not support this way of guarding a run."""


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
    """Start a guard and, through it, the agent on the three descriptors `pipes`. Always take over the cgroup.

    Raise OSError if the agent cannot be executed, `LevelUnavailable` if the run cannot be contained in this way.
    """
    guard = [sys.executable, "-I", "-S", *_bytecode(), _GUARD, hold, cgroup.path if cgroup else "", file or ""]
    guard.append(original_limit())
    try:
        guarded = _start_guard(guard, argv, env=env, cwd=cwd, pipes=pipes, mark=mark, cgroup=cgroup)
    except OSError as error:
        if cgroup is not None:
            with trio.CancelScope(shield=True):
                await cgroup.aclose()
        # Do not stop using guards because of too long arguments or a temporary shortage.
        if error.filename == sys.executable and error.errno != errno.E2BIG and not is_shortage(error):
            raise LevelUnavailable from None
        raise
    try:
        message = await guarded.receive()
    except BaseException:
        with trio.CancelScope(shield=True):
            await guarded.aclose()
        raise
    if message[:1] == b"P":
        return guarded
    with trio.CancelScope(shield=True):
        await guarded.aclose()
    if len(message) > 1:
        failure = OSError(_number(message), "", argv[0])
        if message[:1] == b"E" or is_shortage(failure):
            raise failure
    raise LevelUnavailable


def _bytecode() -> list[str]:
    """Return the options of this process for compiled modules, which `-I` would hide from the guard."""
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
        # Fork in this thread: the guard dies with the thread that forked it, and this thread stays.
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
    """A guard, its agent, and all processes that the agent started."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, mark: str, cgroup: Cgroup | None
    ) -> None:
        control.setblocking(False)
        self._process = process
        self._control = control
        self._mark = mark
        self._cgroup = cgroup
        self._pidfd = open_pidfd(process.pid)

    async def receive(self) -> bytes:
        """Return the guard's next message; empty when the guard has exited."""
        while True:
            await trio.lowlevel.wait_readable(self._control)
            try:
                return self._control.recv(16)
            except (BlockingIOError, ConnectionResetError):
                # The kernel reports the reset once, if the guard exited with unread messages. The guard's own messages
                # follow.
                continue

    async def wait(self) -> ExitStatus:
        """Wait for the agent's exit, like `Contained.wait`."""
        message = await self.receive()
        if message[:1] != b"X":
            # The guard was killed, so the agent's status is unknown.
            raise BackendError("wait")
        return ExitStatus.from_returncode(os.waitstatus_to_exitcode(_number(message)))

    def signal(self, number: signal.Signals) -> None:
        """Send the agent a signal, like `Contained.signal`."""
        self._send(b"S" + bytes((number,)))

    def kill(self) -> None:
        """Kill the run, like `Contained.kill`."""
        self._send(b"K")

    async def aclose(self) -> None:
        """End the run, like `Contained.aclose`."""
        self._send(b"K")
        await self._wait_for_guard()
        if self._process.poll() != 0:
            # The guard was killed, or is stopped, or cannot kill all. A namespace ends with it; otherwise only the mark
            # identifies its processes.
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
        """Wait for the guard's exit for a bounded time, unless other code of this process has reaped it."""
        with trio.move_on_after(_GUARD_PATIENCE), contextlib.suppress(ChildProcessError):
            await wait_for_exit(self._process.pid, self._pidfd)

    def _send(self, message: bytes) -> None:
        # A stopped guard would not receive it. The guard's process group has only its own forks as other members.
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGCONT)
        with contextlib.suppress(OSError):  # the guard has exited or does not receive; `aclose` handles both
            self._control.send(message)


def _number(message: bytes) -> int:
    return int(struct.unpack_from("=i", message, 1)[0])
