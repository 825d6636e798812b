"""Guard one run with the arguments of `guard.py`: LEVEL CGROUP FILE LIMITS CONTROL ARGV...

The module uses only the standard library, and as little of it as possible, because every run waits for it. The adapter
never imports it.

CONTROL is a socket to the adapter. The adapter sends `S` with a byte, a signal for the agent. Any other message, like
`K`, ends the run. The end of the socket or an error also ends the run, because the adapter has exited then. The guard
sends these messages, with a number of four bytes:

- `P` with the agent's process id, after its start
- `N` with an errno, if this level is not available
- `E` with an errno, if the agent cannot be executed
- `X` with the agent's wait status, after its exit

LEVEL `guard`: orphans of the run become children of this process, which kills its descendants. `pid_namespace`: this
process is process 1 of a namespace, which contains all of the run and ends with it. `user_namespace`: the same for a
user other than root. CGROUP: the directory of a cgroup that also contains the agent and its descendants. FILE: a file
that is removed with the run, together with its directory. LIMITS: the soft and the hard limit of open files for the
agent, `SOFT:HARD`. CGROUP, FILE and LIMITS may be empty.

The states are starting, watching and ending. Any error leads to ending, which always finishes. The exit status is 0 if
no process of the run is left. It is 1 after `_PATIENCE` seconds without a process that could be killed (N2).
"""

import os
import select
import struct
import time

from codex_adapter.runtime.containment.guard_processes import (
    become_subreaper,
    cancel_remover,
    check,
    enter_namespace,
    execute_agent,
    forbid_tracing,
    limit_open_files,
    release_agent_pipes,
    remove,
    start_remover,
    suppress,
    wake_on_child,
    write,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable
else:
    import _signal as signal  # see `guard_processes.py`

__all__ = ["main"]

_PATIENCE = 3.0  # longer than the adapter's, which handles the processes that the guard cannot kill


def main(arguments: list[str]) -> None:
    """Guard a run until it ends, then exit."""
    level, cgroup, file, limits, number, *argv = arguments
    run = _Run(int(number), cgroup)
    failure, alive, remover = b"N", -1, 0
    try:
        os.set_inheritable(run.control, False)
        if limits:
            limit_open_files(limits)
        # Signals for the agent or the adapter must not reach the guard. Only a child's exit wakes it.
        signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals() - {signal.SIGCHLD})
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if level == "guard":
            run.adopt_orphans()
        else:
            if file:
                alive, remover = start_remover(run.control, file)
            enter_namespace(run.control, alive, remover, user=level == "user_namespace")
        forbid_tracing()
        woken = wake_on_child()
        failure = b"E"
        if problem := run.start(argv):
            failure = problem[:1]
            check(-1, *struct.unpack_from("=i", problem, 1))
        release_agent_pipes()
        run.send(b"P", run.agent)
        failure = b""
        run.watch(woken)
    except OSError as error:
        if failure:
            with suppress(OSError):
                run.send(failure, error.errno or 0)
        if failure == b"N":
            cancel_remover(alive, remover)
    finally:
        # A namespace ends with its process 1: the kernel kills the remaining processes before others see the end.
        nothing_left = run.end() or level != "guard"
    if level == "guard" and not failure:
        remove(file)
    os._exit(0 if nothing_left else 1)


class _Run:
    """The agent, all processes that it started, and the socket to the adapter. `agent` is 0 unless it is a child."""

    def __init__(self, control: int, cgroup: str) -> None:
        self.control = control
        self.agent = 0
        self._cgroup = cgroup
        self._children = -1
        self._killed: set[int] = set()  # those that are not reaped yet

    def adopt_orphans(self) -> None:
        """Become the parent of all orphans of the run, and prepare to find them."""
        become_subreaper()
        own = os.getpid()
        if os.readlink("/proc/self") != str(own):
            raise FileNotFoundError
        # Not every kernel has this list. An open file can be read again after descriptors have run out.
        with suppress(OSError):
            self._children = os.open(f"/proc/self/task/{own}/children", os.O_RDONLY | os.O_CLOEXEC)

    def send(self, kind: bytes, number: int) -> None:
        """Send the adapter a message. Raise OSError if the adapter has exited."""
        os.write(self.control, kind + struct.pack("=i", number))

    def start(self, argv: list[str]) -> bytes:
        """Start the agent in its own session and in the cgroup. Return the message of a failure, else empty bytes."""
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        self.agent = os.fork()
        if self.agent == 0:
            execute_agent(argv, self._cgroup, write_end)
        os.close(write_end)
        failure = os.read(read_end, 5)
        os.close(read_end)
        return failure

    def watch(self, woken: int) -> None:
        """Execute the adapter's messages and report the agent's exit, until the adapter ends the run or has exited."""
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
                    # The agent may run as another user now, and the number may be invalid.
                    with suppress(OSError):
                        os.kill(self.agent, message[1])

    def end(self) -> bool:
        """Kill until no child is left. Return False if some cannot be killed.

        Orphans become children of this process at once. So it is enough to kill its children repeatedly, as fast as
        processes can replace each other. If a child does not die, all descendants are searched.
        """
        quiet = 0
        deadline = time.monotonic() + _PATIENCE
        while True:
            before = len(self._killed)
            with suppress(OSError, MemoryError):
                if self._reap() < 0:
                    return True
            progress = len(self._killed) != before
            found = False
            with suppress(MemoryError):
                found = self._kill(deep=quiet > 2)
            if found or progress:
                deadline = time.monotonic() + _PATIENCE
            elif time.monotonic() > deadline:
                return False
            quiet = 0 if found else quiet + 1
            if quiet > 1:
                with suppress(OSError):
                    time.sleep(min(quiet, 50) / 1000)

    def _reap(self) -> int:
        """Reap up to 256 exited children and report the agent's status.

        Return 1 if more may have exited, 0 if not, -1 if no child is left. The number is limited, because processes may
        be replaced as fast as they are reaped.
        """
        with suppress(ChildProcessError):
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
        """Send SIGKILL to all processes of the run. Return whether any process got it for the first time."""
        if self._cgroup:
            with suppress(OSError):
                write(f"{self._cgroup}/cgroup.kill", "1")
        if self.agent:
            with suppress(OSError):
                os.killpg(self.agent, signal.SIGKILL)  # it is not reaped yet, so its id is still valid
        if os.getpid() == 1:
            with suppress(OSError):
                os.kill(-1, signal.SIGKILL)
            return False
        before = len(self._killed)
        try:
            listed = os.pread(self._children, 1 << 19, 0)
            # Youngest first, because the others may have exited already. The text after the last space is an incomplete
            # id.
            self._kill_each(int(pid) for pid in reversed(listed[: listed.rfind(b" ") + 1].split()))
        except OSError:
            deep = True
        if deep:
            self._kill_each(_descendants())
        return len(self._killed) > before

    def _kill_each(self, pids: "Iterable[int]") -> None:
        for pid in pids:
            if pid in self._killed:
                continue
            with suppress(OSError):  # it has exited, or belongs to another user
                os.kill(pid, signal.SIGKILL)
                self._killed.add(pid)


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                    children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found += below
        waiting += below
    return found
