"""Find a bubblewrap that works, and start commands in it as a sandbox (H13, H14)."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from codex_adapter.agent_places import AgentPlaces
from codex_adapter.runtime.exhaustion import is_shortage, parse_shortage
from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.hiding import default_hidden
from codex_adapter.workspace.outside import is_replaceable, outside_environment
from codex_adapter.workspace.steering import is_below, pins, steering_names

__all__ = ["Sandbox", "find_sandbox"]

_TRIAL_SECONDS: Final = 10.0
_NO_NAMESPACES: Final = ("--unshare-user", "--disable-userns")
_NAMESPACES: Final = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_EMPTIED: Final = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108
"""Directories with other programs' files and sockets; a command finds them empty and may write to them."""


class Sandbox(msgspec.Struct, frozen=True):
    """A bubblewrap that works on this machine, and what it hides (H13).

    `path` is the program, `strict` whether it keeps commands from making namespaces of their own. `steering` are the
    names in the workspace that a command cannot change (H15). `hidden` are absolute paths of files and directories that
    a command finds empty; the workspace is never hidden with them (H14).
    """

    path: str
    steering: frozenset[str]
    strict: bool = True
    hidden: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        """A description of the protection, for a person."""
        return "bubblewrap" if self.strict else "bubblewrap, commands can make namespaces of their own"

    def argv(self, root: str, directory: str, *, network: bool) -> list[str]:
        """Return the arguments that precede those of the program to run in `directory` (H13, H14).

        `root` is the workspace: absolute, without links in it. Raises `WorkspaceError` for a workspace that cannot be
        separated from the rest of the machine.
        """
        if root == "/":
            raise WorkspaceError("denied", "The root of the file system cannot be sandboxed: use another workspace")
        hidden = sorted({os.path.realpath(path) for path in self.hidden} - {"/", root})
        inside = [path for path in hidden if is_below(path, root)]
        emptied = [path for path in _EMPTIED if _is_directory(path)]
        outside = [path for path in hidden if path not in inside and not any(is_below(path, e) for e in emptied)]
        argv = [self.path, *(_NO_NAMESPACES if self.strict else ()), *_NAMESPACES]
        argv += [] if network else ["--unshare-net"]
        argv += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        # Root may write to the machine's /proc, without any capability.
        argv += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
        argv += [word for path in emptied for word in ("--tmpfs", path)]
        argv += [word for path in outside for word in _cover(path)]
        # Exceptions follow the place that covers them, and the workspace follows everything around it.
        argv += _name_service() if network else ()
        argv += ["--bind", root, root, *pins(root, self.steering)]
        argv += [word for path in inside for word in _cover(path)]
        return [*argv, "--chdir", directory, "--"]


def find_sandbox(
    environ: Mapping[str, str] | None = None, *, agents: Sequence[AgentPlaces], workspace: str | None = None
) -> Sandbox | None:
    """Return a sandbox that was tried out and works here, None when there is none (H13).

    bubblewrap is looked for on PATH, then among what came with `agents`, whose logins are hidden and whose settings are
    kept (H14, H15). What lies in `workspace` is not used, since commands could replace it (H15). `environ` is by
    default the process's own environment. Blocks for some milliseconds. Raises `WorkspaceError` where the system has
    too little left to try one out: that says nothing of what works here (H13).
    """
    environ = os.environ if environ is None else environ
    hidden, steering = default_hidden(environ, agents), steering_names(agents)
    if workspace is None:
        programs = _programs(agents, environ)
    else:
        found_outside = _programs(agents, outside_environment(environ, workspace))
        programs = (path for path in found_outside if not is_replaceable(path, workspace))
    found = (Sandbox(path, steering, strict, hidden) for path in programs for strict in (True, False))
    try:
        return next(filter(_works, found), None)
    except OSError as error:
        told = f"A sandbox cannot be tried out ({os.strerror(error.errno or 0)}): make room for temporary files"
        raise WorkspaceError("exhausted", f"{told}, or raise the limits of the system") from None


def _programs(agents: Sequence[AgentPlaces], environ: Mapping[str, str]) -> Iterator[str]:
    found = shutil.which("bwrap", path=environ.get("PATH", os.defpath))
    if found is not None:
        yield str(Path(found).absolute())
    for agent in agents:
        bundled = agent.bubblewrap(environ)
        if bundled is not None:
            yield bundled


def _works(sandbox: Sandbox) -> bool:
    """Return whether the sandbox can run a program: an installed bubblewrap may still not be allowed to."""
    with tempfile.TemporaryDirectory() as directory:
        root = os.path.realpath(directory)
        try:
            trial = subprocess.run(
                [*sandbox.argv(root, root, network=False), "/bin/sh", "-c", ": >trial"],
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_TRIAL_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            if is_shortage(error):
                raise
            return False
        shortage = parse_shortage(trial.stderr)
        if trial.returncode and shortage is not None:
            raise shortage
        return trial.returncode == 0 and Path(root, "trial").exists()


def _cover(path: str) -> list[str]:
    if Path(path).is_dir():
        return ["--tmpfs", path]
    # As a device, since otherwise it could not be opened: a reader of an empty file continues.
    return ["--dev-bind", os.devnull, path] if Path(path).exists() else []


def _name_service() -> list[str]:
    """Return the arguments for the file that names the name servers, which is often a link into /run."""
    path = os.path.realpath("/etc/resolv.conf")
    covered = any(is_below(path, os.path.realpath(place)) for place in _EMPTIED)
    return ["--ro-bind-try", path, path] if covered else []


def _is_directory(path: str) -> bool:
    return os.path.realpath(path) == path and Path(path).is_dir()
