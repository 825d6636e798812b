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
from codex_adapter.workspace.isolation import is_replaceable, isolate_environment
from codex_adapter.workspace.secret_places import list_secret_places
from codex_adapter.workspace.steering_files import is_below, list_steering_names, protect_steering

__all__ = ["Sandbox", "find_sandbox"]

_TRIAL_SECONDS: Final = 10.0
_NO_NAMESPACES: Final = ("--unshare-user", "--disable-userns")
_NAMESPACES: Final = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_EMPTIED: Final = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108
"""Directories with other programs' files and sockets. A command finds them empty, and can write to them."""


class Sandbox(msgspec.Struct, frozen=True):
    """A bubblewrap that works on this machine, and the files that it hides and protects.

    `path` is the program. `strict` is whether it prevents commands from creating namespaces. `steering` are the names
    in the workspace that a command cannot change. `hidden` are absolute paths of files and directories that a command
    finds empty. A workspace in such a directory is still visible (H13, H14, H15).
    """

    path: str
    steering: frozenset[str]
    strict: bool = True
    hidden: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        """A description of the protection, for the user."""
        return "bubblewrap" if self.strict else "bubblewrap, commands can make namespaces of their own"

    def argv(self, root: str, directory: str, *, network: bool) -> list[str]:
        """Return the arguments that precede those of the program to run in `directory` (H13, H14).

        `root` is the absolute path of the workspace, without links. Raises `WorkspaceError` for `/`, which cannot be
        separated from the rest of the machine.
        """
        if root == "/":
            raise WorkspaceError("denied", "The root of the file system cannot be sandboxed. Use another workspace.")
        hidden = sorted({os.path.realpath(path) for path in self.hidden} - {"/", root})
        inside = [path for path in hidden if is_below(path, root)]
        emptied = [path for path in _EMPTIED if _is_directory(path)]
        outside = [path for path in hidden if path not in inside and not any(is_below(path, e) for e in emptied)]
        argv = [self.path, *(_NO_NAMESPACES if self.strict else ()), *_NAMESPACES]
        argv += [] if network else ["--unshare-net"]
        argv += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        # The user root can write to the machine's /proc even without capabilities.
        argv += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
        argv += [word for path in emptied for word in ("--tmpfs", path)]
        argv += [word for path in outside for word in _hide(path)]
        # The order counts: later mounts cover earlier ones. The workspace follows the directories that contain it.
        argv += _show_name_service() if network else ()
        argv += ["--bind", root, root, *protect_steering(root, self.steering)]
        argv += [word for path in inside for word in _hide(path)]
        return [*argv, "--chdir", directory, "--"]


def find_sandbox(
    environ: Mapping[str, str] | None = None, *, agents: Sequence[AgentPlaces], workspace: str | None = None
) -> Sandbox | None:
    """Return a sandbox that works on this machine, after a test; None if no sandbox works.

    The search for bubblewrap covers PATH, then the files of `agents`. The sandbox hides the logins of `agents` and
    protects their settings. A program in `workspace` is not used, because commands could replace it. `environ` is by
    default this process's environment. Blocks for some milliseconds. Raises `WorkspaceError` if the system has too few
    resources for the test: then it is unknown whether a sandbox works (H13, H14, H15).
    """
    environ = os.environ if environ is None else environ
    hidden, steering = list_secret_places(environ, agents), list_steering_names(agents)
    if workspace is None:
        programs = _find_programs(agents, environ)
    else:
        found_outside = _find_programs(agents, isolate_environment(environ, workspace))
        programs = (path for path in found_outside if not is_replaceable(path, workspace))
    found = (Sandbox(path, steering, strict, hidden) for path in programs for strict in (True, False))
    try:
        return next(filter(_works, found), None)
    except OSError as error:
        problem = f"A sandbox cannot be tested ({os.strerror(error.errno or 0)})"
        advice = "Free space for temporary files, or raise the limits of the system."
        raise WorkspaceError("exhausted", f"{problem}. {advice}") from None


def _find_programs(agents: Sequence[AgentPlaces], environ: Mapping[str, str]) -> Iterator[str]:
    found = shutil.which("bwrap", path=environ.get("PATH", os.defpath))
    if found is not None:
        yield str(Path(found).absolute())
    for agent in agents:
        bundled = agent.bubblewrap(environ)
        if bundled is not None:
            yield bundled


def _works(sandbox: Sandbox) -> bool:
    """Return whether the sandbox can run a program. The system may forbid this to an installed bubblewrap."""
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


def _hide(path: str) -> list[str]:
    """Return the arguments that make a command find an empty directory or file at this path."""
    if Path(path).is_dir():
        return ["--tmpfs", path]
    # `--dev-bind`, because otherwise the command could not open the device. So it reads an empty file.
    return ["--dev-bind", os.devnull, path] if Path(path).exists() else []


def _show_name_service() -> list[str]:
    """Return the arguments that show /etc/resolv.conf, which is often a link into /run."""
    path = os.path.realpath("/etc/resolv.conf")
    covered = any(is_below(path, os.path.realpath(place)) for place in _EMPTIED)
    return ["--ro-bind-try", path, path] if covered else []


def _is_directory(path: str) -> bool:
    return os.path.realpath(path) == path and Path(path).is_dir()
