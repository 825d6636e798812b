"""Print the permissions of this process as JSON: `ok` or the name of the error for each attempt."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

__all__: list[str] = []

_libc = ctypes.CDLL(None, use_errno=True)
_NEWUSER, _NEWPID, _NEWNS = 0x10000000, 0x20000000, 0x20000


def _call(*words: object) -> None:
    if _libc.syscall(*words) < 0:
        raise OSError(ctypes.get_errno(), "")


def _forked(act: Callable[[], None]) -> Callable[[], None]:
    """Act in a child, so that this process stays as it is."""

    def act_in_child() -> None:
        child = os.fork()
        if child == 0:
            status = 255
            with contextlib.suppress(BaseException):
                try:
                    act()
                    status = 0
                except OSError as error:
                    status = error.errno or 255
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            raise OSError(status, "")

    return act_in_child


def _unshare(flags: int) -> Callable[[], None]:
    def act() -> None:
        if _libc.unshare(flags) != 0:
            raise OSError(ctypes.get_errno(), "")

    return _forked(act)


def _clone_user() -> None:
    # By the number, which is the same nowhere; libc's own `clone` wants a stack.
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    result = _libc.syscall(number, _NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    os.waitpid(result, 0)


def _cgroup() -> None:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            place = Path(before.split()[4], "attack-probe")
            place.mkdir()
            place.rmdir()
            return
    raise FileNotFoundError(errno.ENOENT, "")


def _pidfd_of_python() -> None:
    os.close(os.pidfd_open(os.getpid()))


def _write(path: str) -> Callable[[], None]:
    def act() -> None:
        file = Path(path)
        try:
            file.write_bytes(b"x")
        finally:
            with contextlib.suppress(OSError):
                file.unlink()

    return act


def _two_children() -> None:
    with subprocess.Popen(["sleep", "5"]) as one:
        try:
            subprocess.run(["true"], check=True)
        finally:
            one.kill()


def main(place: str) -> None:
    """Try each, and print what came of it."""
    attempts: dict[str, Callable[[], None]] = {
        "unshare user": _unshare(_NEWUSER),
        "unshare pid": _unshare(_NEWPID | _NEWNS),
        "clone user": _clone_user,
        # No argument is valid here: EINVAL says that the call is there.
        "clone3": lambda: _call(435, 0, 0),
        "openat2": lambda: _call(437, -100, b"/", 0, 0),
        "pidfd_open": lambda: _call(434, os.getpid(), 0),
        "pidfd of python": _pidfd_of_python,
        "pidfd_send_signal": lambda: _call(424, -1, 0, 0, 0),
        "mount": _forked(lambda: _call({"x86_64": 165, "aarch64": 40}[os.uname().machine], 0, b"/", 0, 1 << 18, 0)),
        "cgroup": _cgroup,
        "state": _write(f"{place}/state/probe"),
        "root's files": _write("/etc/attack-probe"),
        "children": _two_children,
    }
    found: dict[str, object] = {}
    for name, attempt in attempts.items():
        try:
            attempt()
            found[name] = "ok"
        except OSError as error:
            found[name] = errno.errorcode.get(error.errno or 0, str(error.errno))
        except AttributeError:
            found[name] = "AttributeError"
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    found |= {"user": os.geteuid(), "no_new_privs": status["NoNewPrivs"], "capabilities": int(status["CapEff"], 16)}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
