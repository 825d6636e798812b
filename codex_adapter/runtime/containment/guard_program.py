"""Guard one run: LEVEL CGROUP FILE LIMITS CONTROL ARGV..., the arguments of `guard.py` (N2).

Standard library only, and as little of it as possible, since every run waits for it; the adapter never imports it.
CONTROL is a socket to the adapter. It brings `S` with a byte, a signal for the agent; everything else ends the run:
`K`, any other message, and the end of the socket or an error of it, which say that the adapter is gone. To the adapter
go `N` with an errno when this level is not available here, `E` with one when the agent cannot be executed, else `P`
with its process id, and `X` with its wait status once it has exited. Numbers are four bytes.

LEVEL `guard`: orphans of the run become children of this process, which kills its descendants. `pid_namespace`: this
process is number 1 of a namespace, which holds all of the run and ends with it. `user_namespace`: the same for a user
who is not root. CGROUP, unless empty: the directory of a cgroup that holds the agent and all its descendants as well.
FILE, unless empty: a file that goes with the run, and its directory with it. LIMITS, unless empty: the soft and the
hard limit of open files for the agent, with a colon between them.

The states are starting, watching, and ending. Any error leads to ending. Ending always ends: with exit status 0 when
nothing of the run is left, else, after `_PATIENCE` seconds in which nothing new could be killed, with 1.
"""

import contextlib
import os
import select
import signal
import struct
import time
from collections.abc import Iterable

from codex_adapter.runtime.containment.guard_processes import (
    become_subreaper,
    become_the_agent,
    check,
    enter_namespace,
    forbid_tracing,
    keep_file,
    let_go_of_the_agents_pipes,
    limit_open_files,
    remove,
    remove_later,
    wake_on_child,
    write,
)

__all__ = ["main"]

_PATIENCE = 3.0  # longer than that of the adapter, which looks at what this process could not kill


def main(arguments: list[str]) -> None:
    """Guard a run until it is over, then exit."""
    level, cgroup, file, limits, number, *argv = arguments
    run = _Run(int(number), cgroup)
    failure, alive, remover = b"N", -1, 0
    try:
        os.set_inheritable(run.control, False)
        if limits:
            limit_open_files(limits)
        # Signals for the agent or the adapter are not for the guard; only a child's exit must wake it.
        signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals() - {signal.SIGCHLD})
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if level == "guard":
            run.adopt_orphans()
        else:
            if file:
                alive, remover = remove_later(run.control, file)
            enter_namespace(run.control, alive, remover, user=level == "user_namespace")
        forbid_tracing()
        woken = wake_on_child()
        failure = b"E"
        if problem := run.start(argv):
            failure = problem[:1]
            check(-1, *struct.unpack_from("=i", problem, 1))
        let_go_of_the_agents_pipes()
        run.send(b"P", run.agent)
        failure = b""
        run.watch(woken)
    except OSError as error:
        if failure:
            with contextlib.suppress(OSError):
                run.send(failure, error.errno or 0)
        if failure == b"N":
            keep_file(alive, remover)
    finally:
        # A namespace ends with its process 1: whatever is left then, the kernel kills before others see the end.
        nothing_left = run.end() or level != "guard"
    if level == "guard" and not failure:
        remove(file)
    os._exit(0 if nothing_left else 1)


class _Run:
    """The agent, all that it started, and the socket to the adapter. `agent` is 0 unless it is a child."""

    def __init__(self, control: int, cgroup: str) -> None:
        self.control = control
        self.agent = 0
        self._cgroup = cgroup
        self._children = -1
        self._killed: set[int] = set()  # and not reaped yet

    def adopt_orphans(self) -> None:
        """Become the parent of all orphans of the run, and prepare to find them."""
        become_subreaper()
        own = os.getpid()
        if os.readlink("/proc/self") != str(own):
            raise FileNotFoundError
        # Not every kernel has this list. Kept open, it can be read again when there are no descriptors left.
        with contextlib.suppress(OSError):
            self._children = os.open(f"/proc/self/task/{own}/children", os.O_RDONLY | os.O_CLOEXEC)

    def send(self, kind: bytes, number: int) -> None:
        """Send the adapter a message. Raises OSError, which says that the adapter is gone."""
        os.write(self.control, kind + struct.pack("=i", number))

    def start(self, argv: list[str]) -> bytes:
        """Start the agent in a session of its own, and in the cgroup; return the message of the failure, if any."""
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        self.agent = os.fork()
        if self.agent == 0:
            become_the_agent(argv, self._cgroup, write_end)
        os.close(write_end)
        failure = os.read(read_end, 5)
        os.close(read_end)
        return failure

    def watch(self, woken: int) -> None:
        """Execute the adapter's messages and report the agent's exit, until the adapter ends the run or is gone."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(woken, select.POLLIN)
        more = False
        while True:
            ready = {fd for fd, _ in poll.poll(0 if more else None)}
            if woken in ready:
                os.read(woken, 4096)
            if woken in ready or more:
                more = self._reap() > 0
            if self.control in ready:
                message = os.read(self.control, 2)
                if len(message) < 2 or message[:1] != b"S":
                    return
                if self.agent:
                    # The agent may be another user's by now, and the number may not be a signal.
                    with contextlib.suppress(OSError):
                        os.kill(self.agent, message[1])

    def end(self) -> bool:
        """Kill until no child is left; False when some are left that cannot be killed.

        Orphans become children of this process at once. So to kill its children again and again is enough, and as fast
        as processes can replace each other. Descendants are searched for where a child does not die.
        """
        quiet = 0
        deadline = time.monotonic() + _PATIENCE
        while True:
            before = len(self._killed)
            with contextlib.suppress(OSError, MemoryError):
                if self._reap() < 0:
                    return True
            progress = len(self._killed) != before
            found = False
            with contextlib.suppress(MemoryError):
                found = self._kill(deep=quiet > 2)
            if found or progress:
                deadline = time.monotonic() + _PATIENCE
            elif time.monotonic() > deadline:
                return False
            quiet = 0 if found else quiet + 1
            if quiet > 1:
                with contextlib.suppress(OSError):
                    time.sleep(min(quiet, 50) / 1000)

    def _reap(self) -> int:
        """Reap some of what has exited and report the agent's status; 1 when more may have, -1 when no child is left.

        Not all: processes can be replaced as fast as they are reaped.
        """
        with contextlib.suppress(ChildProcessError):
            for _ in range(256):
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return 0
                self._killed.discard(pid)
                if pid == self.agent:
                    self.agent = 0
                    self.send(b"X", status)
            return 1
        return -1

    def _kill(self, *, deep: bool) -> bool:
        """Send SIGKILL to all of the run that can be found now; return whether it is the first time for any."""
        if self._cgroup:
            with contextlib.suppress(OSError):
                write(f"{self._cgroup}/cgroup.kill", "1")
        if self.agent:
            with contextlib.suppress(OSError):
                os.killpg(self.agent, signal.SIGKILL)  # it is not reaped yet, so the id is its own
        if os.getpid() == 1:
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)
            return False
        before = len(self._killed)
        try:
            listed = os.pread(self._children, 1 << 19, 0)
            # The youngest first: the others may have exited already. What is after the last space is a part of one.
            self._kill_each(int(pid) for pid in reversed(listed[: listed.rfind(b" ") + 1].split()))
        except OSError:
            deep = True
        if deep:
            self._kill_each(_descendants())
        return len(self._killed) > before

    def _kill_each(self, pids: Iterable[int]) -> None:
        for pid in pids:
            if pid in self._killed:
                continue
            with contextlib.suppress(OSError):  # it is gone, or another user's
                os.kill(pid, signal.SIGKILL)
                self._killed.add(pid)


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                    children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found += below
        waiting += below
    return found
