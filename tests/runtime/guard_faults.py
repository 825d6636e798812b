"""Play scenarios with real guards in which one system call fails, and exchange lines of JSON.

Each guard is a fork of this process with a tree of processes below it. This process is the subreaper of all of them: a
process that a guard leaves becomes a child of this process, so that none is overlooked.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from codex_adapter.runtime.containment import guard_processes
from codex_adapter.runtime.containment import guard_program as guarding

PATIENCE = 0.2
"""Seconds after which a guard gives up here if it may kill nothing, instead of 3."""
LONGEST = 60.0


class Fault(NamedTuple):
    """The call of `function` with this number fails, counted from 1 in each process; with `lasting`, all after too."""

    function: str
    number: int
    errno: int
    lasting: bool

    def wrap(self, function: Callable[..., Any], fail: Callable[[], Any]) -> Callable[..., Any]:
        """The function, which fails when its time has come."""
        calls = 0

        def failing(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == self.number or (self.lasting and calls > self.number):
                return fail()
            return function(*arguments, **options)

        return failing

    def error(self) -> Any:
        raise OSError(self.errno, os.strerror(self.errno))

    def minus_one(self) -> int:
        ctypes.set_errno(self.errno)
        return -1

    def install(self) -> None:
        """Make this process, and what it forks, meet the fault."""
        space, _, name = self.function.rpartition(".")
        if space == "poll":
            select.poll = self._poll(name)  # type: ignore[misc, assignment]
            return
        libc: Any = guard_processes._libc
        target = {"": builtins, "os": os, "signal": sys.modules["_signal"], "time": time, "libc": libc}[space]
        fail = self.minus_one if target is libc else self.error
        setattr(target, name, self.wrap(getattr(target, name), fail))

    def _poll(self, name: str) -> Callable[[], Any]:
        poll = select.poll

        def faulty() -> Any:
            inner = poll()
            methods: dict[str, Any] = {"poll": inner.poll, "register": inner.register}
            methods[name] = self.wrap(methods[name], self.error)
            return SimpleNamespace(**methods)

        return faulty


def play(hold: str, script: str, steps: list[list[str]], fault: list[Any] | None, wait: float) -> dict[str, Any]:
    """Play one scenario; what was heard, the guard's status, and how many processes it left.

    `wait` is for how many seconds a step waits for what may never come.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ready, output = os.pipe()
    guard = os.fork()
    if guard == 0:
        _be_guard(hold, script, theirs, output, fault)
    theirs.close()
    os.close(output)
    heard = "".join(_take(step, ours, ready, wait) for step in steps)
    ours.close()
    status, left_then = _wait(guard, time.monotonic() + LONGEST)
    os.close(ready)
    # What is bound to the guard's life is killed with it, and takes a moment to go.
    deadline = time.monotonic() + (0.2 if _may_kill_nothing(fault) else LONGEST)
    while (left := _children()) and time.monotonic() < deadline:
        time.sleep(0.001)
    while found := _children():
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return {"heard": heard, "status": status, "left_then": left_then, "left": len(left)}


def _may_kill_nothing(fault: list[Any] | None) -> bool:
    return fault is not None and fault[0] == "os.kill" and fault[3]


def _take(step: list[str], ours: socket.socket, ready: int, wait: float) -> str:
    """Take one step of the adapter; the kind of the message that was heard, `-` for none any more."""
    match step:
        case ["hear"]:
            ours.settimeout(wait)
            try:
                return ours.recv(16)[:1].decode() or "-"
            except OSError:
                return "-"
        case ["say", message]:
            with contextlib.suppress(OSError):
                ours.send(bytes.fromhex(message))
        case ["ready"]:  # the whole tree is there
            select.select([ready], [], [], wait)
        case ["answer"]:  # there is a message that is not read
            select.select([ours], [], [], wait)
        case _:
            raise ValueError(step)
    return ""


def _be_guard(hold: str, script: str, control: socket.socket, output: int, fault: list[Any] | None) -> None:
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, descriptor in enumerate((nothing, output, nothing)):
            os.dup2(descriptor, number)
        os.closerange(3, control.fileno())
        os.closerange(control.fileno() + 1, 64)
        if _may_kill_nothing(fault):
            guarding._PATIENCE = PATIENCE
        if fault is not None:
            Fault(*fault).install()
        guarding.main([hold, "", "", "", str(control.fileno()), "/bin/sh", "-c", script])
    finally:
        os._exit(1)


def _wait(guard: int, deadline: float) -> tuple[int, int]:
    """The guard's status, and how many processes it left at that moment; -1000 when it had to be killed."""
    while time.monotonic() < deadline:
        if os.waitid(os.P_PID, guard, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            left = len(_children())
            return os.waitstatus_to_exitcode(os.waitpid(guard, 0)[1]), left
        time.sleep(0.0005)
    os.kill(guard, signal.SIGKILL)
    return -1000, 0


def _children() -> list[int]:
    """Living children of this process."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (process / "stat").read_bytes().rpartition(b")")[2].split()[:2]
                if int(parent) == os.getpid() and state not in (b"Z", b"X"):
                    found.append(int(process.name))
    return found


def main() -> None:
    """Play what is read, one line each."""
    guard_processes.become_subreaper()
    for line in sys.stdin:
        print(json.dumps(play(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
