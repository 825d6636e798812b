"""Start the processes of a guard: the agent, process 1 of a namespace, and the remover of the run's file.

A process that is forked here never returns to its parent's code, except process 1 of a namespace, which continues as
the guard. Only the standard library is used, and as little of it as possible: see `guard_program.py` (N2).
"""

import ctypes
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # `signal`, like `contextlib`, takes as long to import as the interpreter to start

__all__ = [
    "become_subreaper",
    "cancel_remover",
    "check",
    "enter_namespace",
    "execute_agent",
    "forbid_tracing",
    "limit_open_files",
    "release_agent_pipes",
    "remove",
    "start_remover",
    "suppress",
    "wake_on_child",
    "write",
]


class suppress:  # noqa: N801 - as that of contextlib
    """A block that ends without an error if it raises one of these."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000
_MS_PRIVATE_REC, _MS_NOSUID_NODEV_NOEXEC = 0x44000, 0xE


def execute_agent(argv: list[str], cgroup: str, write_end: int) -> None:
    """Execute the agent in this forked process, or write the error to `write_end` and exit."""
    failure = b"N"
    try:
        os.setsid()
        if cgroup:
            write(f"{cgroup}/cgroup.procs", "0")
        _die_with_parent()
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        failure = b"E"
        os.execv(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(write_end, failure + struct.pack("=i", error.errno or 0))
    finally:
        os._exit(127)


def limit_open_files(limits: str) -> None:
    """Set the soft and the hard limit of open files, `SOFT:HARD`, for this process and its children."""
    import resource  # noqa: PLC0415 - few guards need it

    soft, _, hard = limits.partition(":")
    with suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(soft), int(hard)))


def enter_namespace(control: int, alive: int, remover: int, *, user: bool) -> None:
    """Continue as process 1 of a new PID namespace. The old process stays outside, waits for it, and dies with it."""
    _die_with_parent()
    flags = _CLONE_NEWPID | _CLONE_NEWNS
    if user:
        ids = {"uid_map": os.getuid(), "gid_map": os.getgid()}
        check(_libc.unshare(flags | _CLONE_NEWUSER))
        write("/proc/self/setgroups", "deny")
        for name, number in ids.items():
            write(f"/proc/self/{name}", f"{number} {number} 1")
    else:
        check(_libc.unshare(flags))
    inside = os.fork()
    if inside:
        _wait_for_namespace(inside, control, alive, remover)
    _die_with_parent()
    check(_libc.mount(b"none", b"/", None, _MS_PRIVATE_REC, None))
    check(_libc.mount(b"proc", b"/proc", b"proc", _MS_NOSUID_NODEV_NOEXEC, None))


def _wait_for_namespace(inside: int, control: int, alive: int, remover: int) -> None:
    """Wait until the namespace with process 1 `inside` has ended, then exit."""
    status = -1
    try:
        forbid_tracing()
        release_agent_pipes()
        os.close(control)
        _, status = os.waitpid(inside, 0)
        if remover:
            os.close(alive)
            os.waitpid(remover, 0)
    finally:
        with suppress(OSError):
            if status < 0:
                os.kill(inside, signal.SIGKILL)
                os.waitpid(inside, 0)
        os._exit(0 if status == 0 else 1)


def start_remover(control: int, file: str) -> tuple[int, int]:
    """Start a process that removes `file` when this process and its children have exited.

    A byte on the returned descriptor prevents the removal. A guard in a namespace cannot remove the file itself,
    because the kernel kills it with the adapter.
    """
    read_end, write_end = os.pipe()
    remover = os.fork()
    if remover == 0:
        try:
            forbid_tracing()
            os.close(write_end)
            release_agent_pipes()
            os.close(control)
            if not os.read(read_end, 1):
                remove(file)
        finally:
            os._exit(0)
    os.close(read_end)
    return write_end, remover


def cancel_remover(alive: int, remover: int) -> None:
    """End the remover without a removal, because the run may be started at another level."""
    if remover:
        with suppress(OSError):
            os.write(alive, b"-")
        with suppress(OSError):
            os.close(alive)
            os.waitpid(remover, 0)  # inside the namespace it is not a child; its parent is the process outside


def remove(file: str) -> None:
    """Remove the directory of a file, with all that the agent wrote to it."""
    from codex_adapter.own_directories import remove_tree  # noqa: PLC0415 - each run would wait for it

    with suppress(OSError):
        remove_tree(os.path.dirname(file))


def wake_on_child() -> int:
    """Return a descriptor that becomes readable when a child has exited."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    return read_end


def release_agent_pipes() -> None:
    """Replace the descriptors 0, 1 and 2 by /dev/null."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def forbid_tracing() -> None:
    """Prevent processes of the same user, such as the agent, from tracing this one."""
    _prctl(_PR_SET_DUMPABLE, 0)


def become_subreaper() -> None:
    """Become the parent of all orphans among the descendants of this process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    check(_libc.prctl(option, value, 0, 0, 0))


def check(result: int, number: int | None = None) -> None:
    """Raise OSError for a result that is not 0, with `number` or else the errno of the C library."""
    if result != 0:
        raise OSError(ctypes.get_errno() if number is None else number, "")


def write(path: str, text: str) -> None:
    """Write to a file of the kernel."""
    with open(path, "w") as file:
        file.write(text)
