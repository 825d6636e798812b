"""What the guard of one run does: LEVEL CGROUP FILE CONTROL ARGV..., the arguments of `guard.py` (N2).

Standard library only, and as little of it as will do, since every run waits for it; the adapter never imports it.
CONTROL is a socket to the adapter. From there come `S` with a byte, a signal for the agent, and `K`, end everything;
its end says that the adapter is gone, which is a `K` too. To there go `N` with an errno when this level cannot be had
here, `E` with one when the agent cannot be executed, else `P` with its process id, and `X` with its wait status once it
has exited. Numbers are four bytes. Exit status 0 says that nothing of the run is left.

LEVEL `guard`: orphans of the run become children of this process, which kills its descendants. `pid_namespace`: this
process is number 1 of a namespace, which holds all of the run and ends with it. `user_namespace`: the same for one who
is not root. CGROUP, unless empty: the directory of a cgroup that holds the agent and all its descendants as well.
FILE, unless empty: a file that goes with the run, and its directory with it.
"""

import contextlib
import ctypes
import os
import select
import signal
import struct
import time

__all__ = ["main"]

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000
_MS_PRIVATE_REC, _MS_NOSUID_NODEV_NOEXEC = 0x44000, 0xE


def main(arguments: list[str]) -> None:
    """Be the guard of a run until it is over."""
    level, cgroup, file, number, *argv = arguments
    control = int(number)
    os.set_inheritable(control, False)
    # What is meant for the agent or the adapter is not for the guard, which hears of it by other ways.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # whatever the adapter had blocked: a child's exit must wake us
    alive, remover = _remove_later(control, file) if file and level != "guard" else (-1, 0)
    try:
        if level == "guard":
            _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
            os.stat(f"/proc/{os.getpid()}")  # descendants are looked for there
        else:
            _enter_namespace(control, alive, remover, user=level == "user_namespace")
        woken = _wake_on_child()
    except OSError as error:
        os.write(control, b"N" + struct.pack("=i", error.errno or 0))
        if remover:
            os.write(alive, b"-")
        return
    try:
        agent, failure = _start(argv, cgroup)
    except OSError as error:
        failure = b"E" + struct.pack("=i", error.errno or 0)
    if failure:
        os.write(control, failure)
        return
    _let_go_of_the_agents_pipes()
    os.write(control, b"P" + struct.pack("=i", agent))
    _watch(control, agent, woken)
    _kill_all(control, agent, cgroup)
    _remove(file)


def _remove(file: str) -> None:
    with contextlib.suppress(OSError):  # the adapter may have removed it already
        os.unlink(file)
        os.rmdir(os.path.dirname(file))


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "")


def _die_with_parent() -> None:
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))


def _enter_namespace(control: int, alive: int, remover: int, *, user: bool) -> None:
    """Go on as process 1 of a new PID namespace; the old process stays outside, to be waited for, and to die with."""
    _die_with_parent()
    flags = _CLONE_NEWPID | _CLONE_NEWNS
    if user:
        ids = {"uid_map": os.getuid(), "gid_map": os.getgid()}
        _check(_libc.unshare(flags | _CLONE_NEWUSER))
        _write("/proc/self/setgroups", "deny")
        for name, number in ids.items():
            _write(f"/proc/self/{name}", f"{number} {number} 1")
    else:
        _check(_libc.unshare(flags))
    inside = os.fork()
    if inside:
        _let_go_of_the_agents_pipes()
        os.close(control)
        _, status = os.waitpid(inside, 0)
        if remover:
            os.close(alive)
            os.waitpid(remover, 0)
        os._exit(0 if status == 0 else 1)
    _die_with_parent()
    _check(_libc.mount(b"none", b"/", None, _MS_PRIVATE_REC, None))
    _check(_libc.mount(b"proc", b"/proc", b"proc", _MS_NOSUID_NODEV_NOEXEC, None))


def _remove_later(control: int, file: str) -> tuple[int, int]:
    """Start a process that removes `file` when this one and its children have gone, unless the descriptor says not to.

    A guard in a namespace cannot: the kernel kills it with the adapter.
    """
    read_end, write_end = os.pipe()
    remover = os.fork()
    if remover == 0:
        os.close(write_end)
        _let_go_of_the_agents_pipes()
        os.close(control)
        if not os.read(read_end, 1):
            _remove(file)
        os._exit(0)
    os.close(read_end)
    return write_end, remover


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _wake_on_child() -> int:
    """A descriptor that becomes readable when a child has exited."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    return read_end


def _start(argv: list[str], cgroup: str) -> tuple[int, bytes]:
    """Start the agent in a session of its own, and in the cgroup; its process id, or the message of the failure."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    agent = os.fork()
    if agent == 0:
        failure = b"N"
        try:
            os.setsid()
            if cgroup:
                _write(f"{cgroup}/cgroup.procs", "0")
            _die_with_parent()
            signal.set_wakeup_fd(-1)
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)
            failure = b"E"
            os.execv(argv[0], argv)  # noqa: S606
        except OSError as error:
            os.write(write_end, failure + struct.pack("=i", error.errno or 0))
        finally:
            os._exit(127)
    os.close(write_end)
    failure = os.read(read_end, 5)
    os.close(read_end)
    if failure:
        os.waitpid(agent, 0)
    return agent, failure


def _let_go_of_the_agents_pipes() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)


def _watch(control: int, agent: int, woken: int) -> None:
    """Carry out what the adapter says until it says to end, or is gone."""
    alive = True
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if woken in ready:
            os.read(woken, 4096)
            alive = _reap(control, agent) and alive
        if control in ready:
            message = os.read(control, 2)
            if message[:1] != b"S":
                return
            if alive:
                os.kill(agent, message[1])


def _reap(control: int, agent: int) -> bool:
    """Reap what has exited and tell the agent's status; False when the agent was among it."""
    alive = True
    while _has_children():
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            break
        if pid == agent:
            alive = False
            with contextlib.suppress(OSError):  # the adapter may be gone, and then there is nobody to tell
                os.write(control, b"X" + struct.pack("=i", status))
    return alive


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def _kill_all(control: int, agent: int, cgroup: str) -> None:
    """Kill until there is no child any more: an orphan of the run becomes one, whatever session it is in."""
    while _has_children():
        if cgroup:
            with contextlib.suppress(OSError):
                _write(f"{cgroup}/cgroup.kill", "1")
        with contextlib.suppress(ProcessLookupError):
            if os.getpid() == 1:
                os.kill(-1, signal.SIGKILL)
            else:
                for pid in _descendants():
                    os.kill(pid, signal.SIGKILL)
        _reap(control, agent)
        time.sleep(0.002)


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
