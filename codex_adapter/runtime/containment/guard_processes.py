"""Start the processes of a guard: the agent, process 1 of a namespace, and the one that removes the run's file (N2).

A process that is forked here never returns into the code of its parent, except process 1 of a namespace, which goes on
as the guard. Standard library only, and as little of it as possible: see `guard_program.py`.
"""

import contextlib
import ctypes
import os
import signal
import struct

__all__ = [
    "become_subreaper",
    "become_the_agent",
    "check",
    "enter_namespace",
    "forbid_tracing",
    "keep_file",
    "let_go_of_the_agents_pipes",
    "limit_open_files",
    "remove",
    "remove_later",
    "wake_on_child",
    "write",
]

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000
_MS_PRIVATE_REC, _MS_NOSUID_NODEV_NOEXEC = 0x44000, 0xE


def become_the_agent(argv: list[str], cgroup: str, write_end: int) -> None:
    """Execute the agent in this process, a fork, or write why it cannot be to `write_end` and exit."""
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
    """Set the soft and the hard limit of open files, `SOFT:HARD`, for this process and all that it starts."""
    import resource  # noqa: PLC0415 - few guards need it

    soft, _, hard = limits.partition(":")
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(soft), int(hard)))


def enter_namespace(control: int, alive: int, remover: int, *, user: bool) -> None:
    """Go on as process 1 of a new PID namespace; the old process stays outside, to be waited for, and to die with."""
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
    """Wait until the namespace of which `inside` is process 1 has ended, and exit."""
    status = -1
    try:
        forbid_tracing()
        let_go_of_the_agents_pipes()
        os.close(control)
        _, status = os.waitpid(inside, 0)
        if remover:
            os.close(alive)
            os.waitpid(remover, 0)
    finally:
        with contextlib.suppress(OSError):
            if status < 0:
                os.kill(inside, signal.SIGKILL)
                os.waitpid(inside, 0)
        os._exit(0 if status == 0 else 1)


def remove_later(control: int, file: str) -> tuple[int, int]:
    """Start a process that removes `file` when this one and its children have gone, unless the descriptor says not to.

    A guard in a namespace cannot: the kernel kills it with the adapter.
    """
    read_end, write_end = os.pipe()
    remover = os.fork()
    if remover == 0:
        try:
            forbid_tracing()
            os.close(write_end)
            let_go_of_the_agents_pipes()
            os.close(control)
            if not os.read(read_end, 1):
                remove(file)
        finally:
            os._exit(0)
    os.close(read_end)
    return write_end, remover


def keep_file(alive: int, remover: int) -> None:
    """Let the remover end without removing anything: the run may be started at another level."""
    if remover:
        with contextlib.suppress(OSError):
            os.write(alive, b"-")
        with contextlib.suppress(OSError):
            os.close(alive)
            os.waitpid(remover, 0)  # in the namespace it is not a child, but that of the process outside


def remove(file: str) -> None:
    """Remove a file, and its directory."""
    with contextlib.suppress(OSError):  # the adapter may have removed it already
        os.unlink(file)
        os.rmdir(os.path.dirname(file))


def wake_on_child() -> int:
    """Return a descriptor that becomes readable when a child has exited."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    return read_end


def let_go_of_the_agents_pipes() -> None:
    """Replace the descriptors 0, 1 and 2 by /dev/null."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def forbid_tracing() -> None:
    """Keep processes of the same user, such as the agent, from tracing this one."""
    _prctl(_PR_SET_DUMPABLE, 0)


def become_subreaper() -> None:
    """Become the parent of all orphans among the descendants of this process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    check(_libc.prctl(option, value, 0, 0, 0))


def check(result: int, number: int | None = None) -> None:
    """Raise OSError for a result that is not 0: `number`, or what the C library says."""
    if result != 0:
        raise OSError(ctypes.get_errno() if number is None else number, "")


def write(path: str, text: str) -> None:
    """Write to a file of the kernel."""
    with open(path, "w") as file:
        file.write(text)
