"""Replace this process by a program in hostile surroundings.

    python -I -S launch.py SURROUNDING PLACE PROGRAM...

PLACE is a directory for the program. Its subdirectory `state` is the full disk of `full_disk`. The module uses only the
standard library and no compiler: it assembles seccomp filters itself, as libseccomp does. It exits with status 77 and a
reason on standard error if this machine does not allow the surrounding.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import shutil
import stat
import struct
import sys
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

__all__ = ["PLAIN_USER", "SURROUNDINGS", "Surrounding", "user_of"]

PLAIN_USER: Final = 54_400
"""A user id that no account has, and that nothing else on the machine uses."""
_MISSING: Final = 77

_CLONE_NAMESPACES: Final = 0x7E020000
_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE, _MNT_DETACH = 1, 32, 4096, 16384, 1 << 18, 2
_PR_CAPBSET_DROP, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 24, 22, 38, 2
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
# What Docker leaves to root: chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service,
# net_raw, sys_chroot, mknod, audit_write, setfcap.
_DOCKER_CAPABILITIES: Final = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31})
_LAST_CAPABILITY: Final = 40

_ARCHITECTURES: Final = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_NUMBERS: Final = {
    "clone": (56, 220),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "ptrace": (101, 117),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "pidfd_send_signal": (424, 424),
    "io_uring_setup": (425, 425),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "pidfd_open": (434, 434),
    "clone3": (435, 435),
    "openat2": (437, 437),
    "pidfd_getfd": (438, 438),
    "faccessat2": (439, 439),
    "mount_setattr": (442, 442),
    "landlock_create_ruleset": (444, 444),
}
_MOUNTS: Final = ("mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen", "fsmount", "mount_setattr")
_NO_NAMESPACES: Final = {
    **dict.fromkeys(("unshare", "setns", "clone", *_MOUNTS), errno.EPERM),
    "clone3": errno.ENOSYS,
}
_DOCKER: Final = {
    **_NO_NAMESPACES,
    **dict.fromkeys(("bpf", "perf_event_open", "userfaultfd", "open_by_handle_at", "keyctl"), errno.EPERM),
    "io_uring_setup": errno.EPERM,
}
_NO_PIDFD: Final = dict.fromkeys(("pidfd_open", "pidfd_send_signal", "pidfd_getfd"), errno.ENOSYS)
# gVisor's table of system calls names these as unsupported, or did in releases that are in use.
_GVISOR: Final = {
    **_NO_PIDFD,
    **_NO_NAMESPACES,
    **dict.fromkeys(
        ("openat2", "faccessat2", "io_uring_setup", "name_to_handle_at", "open_by_handle_at"), errno.ENOSYS
    ),
    **dict.fromkeys(("landlock_create_ruleset", "bpf", "perf_event_open", "userfaultfd", "keyctl"), errno.ENOSYS),
}


class Surrounding(NamedTuple):
    """What a program is deprived of.

    `denied` are system calls with the errno that they give; `clone` is denied with a flag for a namespace only.
    `cgroups` is `read-only`, `none` or empty. `processes` limits those of the user.
    """

    denied: dict[str, int] = {}
    user: bool = False
    docker_capabilities: bool = False
    cgroups: str = ""
    python_without_pidfd: bool = False
    full_disk: bool = False
    processes: int = 0


SURROUNDINGS: Final = {
    "nothing_special": Surrounding(),
    "dockerish": Surrounding(_DOCKER, docker_capabilities=True, cgroups="read-only"),
    "no_namespaces": Surrounding(_NO_NAMESPACES),
    "devcontainer": Surrounding(_DOCKER, user=True, cgroups="read-only"),
    "plain_user": Surrounding(user=True),
    "no_pidfd": Surrounding(_NO_PIDFD),
    "python_without_pidfd": Surrounding(python_without_pidfd=True),
    "gvisor_like": Surrounding(_GVISOR, docker_capabilities=True, cgroups="none"),
    "full_disk": Surrounding(full_disk=True),
    "pids_limit_1": Surrounding(user=True, processes=1),
    "pids_limit_2": Surrounding(user=True, processes=2),
    "pids_limit_4": Surrounding(user=True, processes=4),
    "pids_limit_8": Surrounding(user=True, processes=8),
}


def user_of(name: str) -> int | None:
    """Return the id of the user as whom a program runs there; None for the user of the caller."""
    surrounding = SURROUNDINGS[name]
    if not surrounding.user or os.geteuid() != 0:
        return None
    # Processes are counted for each user: a limit is exact only for a user of its own.
    return PLAIN_USER + surrounding.processes


def main(name: str, place: str, *program: str) -> NoReturn:
    """Make the surrounding and become the program."""
    surrounding = SURROUNDINGS[name]
    user = user_of(name)
    if surrounding.processes and user is None:
        _give_up("have a user of their own, whose processes alone are limited")
    try:
        step = "mount file systems"
        if surrounding.cgroups or surrounding.full_disk or user is not None:
            _own_mounts()
        if surrounding.cgroups:
            _take_cgroups(read_only=surrounding.cgroups == "read-only")
        if user is not None:
            _open_ways(user)
        if surrounding.full_disk:
            _fill(Path(place, "state"))
        step = "drop capabilities"
        if surrounding.docker_capabilities and os.geteuid() == 0:
            for number in set(range(_LAST_CAPABILITY + 1)) - _DOCKER_CAPABILITIES - {21}:
                _check(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0))
        step = "install a seccomp filter"
        if surrounding.denied:
            _deny(surrounding.denied)
        step = "change the user"
        if surrounding.docker_capabilities and os.geteuid() == 0:
            _check(_libc.prctl(_PR_CAPBSET_DROP, 21, 0, 0, 0))  # sys_admin, with which the filter was installed
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
    except OSError as error:
        _give_up(f"{step} ({os.strerror(error.errno or 0)})")
    if surrounding.processes:
        resource.setrlimit(resource.RLIMIT_NPROC, (surrounding.processes, surrounding.processes))
    if surrounding.python_without_pidfd:
        os.environ["PYTHONPATH"] = str(Path(__file__).with_name("without_pidfd"))
    os.execvp(program[0], program)


def _give_up(what: str) -> NoReturn:
    print(f"launch: this machine does not let the tests {what}", file=sys.stderr)
    sys.exit(_MISSING)


_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "")


def _own_mounts() -> None:
    """Move to a mount namespace of this process's own; also to a user namespace, unless root."""
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        _check(_libc.unshare(_CLONE_NEWNS))
    else:
        _check(_libc.unshare(_CLONE_NEWNS | _CLONE_NEWUSER))
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _check(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None))


def _tmpfs(path: Path, options: str) -> None:
    _check(_libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, options.encode()))


def _take_cgroups(*, read_only: bool) -> None:
    places = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[0] in ("cgroup", "cgroup2"):
            places.append(Path(before.split()[4]))
    for place in reversed(places):
        if read_only:
            flags = os.statvfs(place).f_flag & 0xE | _MS_REMOUNT | _MS_BIND | _MS_RDONLY
            _check(_libc.mount(None, os.fsencode(place), None, flags, None))
        elif _libc.umount2(os.fsencode(place), _MNT_DETACH) != 0:
            _tmpfs(place, "size=4k,mode=555")  # locked, as the mounts of a user namespace are


def _open_ways(user: int) -> None:
    """Let `user` reach the Python and the package, which may be in a directory that only root may enter."""
    needed = {Path(sys.base_prefix).resolve(), Path(__file__).resolve().parents[2]}
    # The virtual environment: `-S` leaves `sys.prefix` the base's.
    needed.add(Path(sys.executable).parent.parent.resolve())
    for path in sorted(needed):
        closed = next((way for way in reversed(path.parents) if not way.stat().st_mode & stat.S_IXOTH), None)
        if closed is None:
            continue
        kept = os.open(path, os.O_PATH)
        _tmpfs(closed, f"mode=755,uid=0,gid={user}")
        path.mkdir(parents=True)
        _check(_libc.mount(f"/proc/self/fd/{kept}".encode(), os.fsencode(path), None, _MS_BIND | _MS_REC, None))
        os.close(kept)


def _fill(disk: Path) -> None:
    """Put a small file system with the same content over `disk`, and leave no byte of it free."""
    was = os.open(disk, os.O_RDONLY | os.O_DIRECTORY)
    _tmpfs(disk, "size=16m,mode=755")
    shutil.copytree(f"/proc/self/fd/{was}", disk, dirs_exist_ok=True, symlinks=True)
    os.close(was)
    with (disk / "filler").open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


def _deny(calls: dict[str, int]) -> None:
    """Install a filter that gives these errors; without the bit `no_new_privs` where that is allowed."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, machine)
    audit, column = _ARCHITECTURES[machine]
    load, equal, has, give = 0x20, 0x15, 0x45, 0x06
    code = [(load, 0, 0, 4), (equal, 1, 0, audit), (give, 0, 0, _KILL), (load, 0, 0, 0)]
    for name, error in calls.items():
        number = _NUMBERS[name][column]
        if name == "clone":  # its flags are its first argument, on both architectures
            code += [(equal, 0, 4, number), (load, 0, 0, 16), (has, 0, 1, _CLONE_NAMESPACES)]
            code += [(give, 0, 0, _ERRNO | error), (give, 0, 0, _ALLOW)]
        else:
            code += [(equal, 0, 1, number), (give, 0, 0, _ERRNO | error)]
    code.append((give, 0, 0, _ALLOW))
    text = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in code))
    program = struct.pack("@HP", len(code), ctypes.addressof(text))
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0) != 0:
        _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0))


if __name__ == "__main__":
    main(*sys.argv[1:])
