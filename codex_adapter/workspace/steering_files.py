"""Protect the files of a workspace that steer programs outside of the sandbox (H15)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from codex_adapter.agent_places import AgentPlaces
from codex_adapter.workspace.errors import WorkspaceError

__all__ = [
    "SteeringWatch",
    "find_own_programs",
    "is_below",
    "list_steering_names",
    "protect_steering",
    "refuse_steering",
    "remove_commondir",
]

_STEERING: Final = frozenset(
    {
        *(".git", ".husky", ".envrc", ".mcp.json"),
        *(".agents", ".claude", ".gemini", ".cursor"),
        *(".vscode", ".idea", ".devcontainer"),
    }
)
"""Names, in lower case, of files that steer git, direnv, editors, and agents that this package does not run."""

_IN_GIT: Final = ("config", "config.worktree", "commondir", "hooks", "info/attributes")
"""The entries of a git directory that define which programs git runs."""
_COMMONDIR: Final = "commondir"
"""A file of worktrees. In another git directory, it makes git read its configuration from another place."""
_NAMED_BY_CONFIG: Final = re.compile(rb'^\s*(?:path|hookspath)\s*=\s*"?([^"#;\r\n]+)', re.IGNORECASE | re.MULTILINE)
_MOST_CONFIG_BYTES: Final = 1024 * 1024
_MOST_REPOSITORIES: Final = 200
_MOST_ENTRIES: Final = 10_000
_DEEPEST: Final = 5
_COPIES: Final = "worktrees"
"""Below `.claude`: copies of the project, not settings."""

_Status: TypeAlias = tuple[str, int, int, int]


def is_below(path: str, directory: str) -> bool:
    """Return whether `path` is in `directory`; both are absolute and without links."""
    return path.startswith(f"{directory.rstrip('/')}/")


def list_steering_names(agents: Sequence[AgentPlaces]) -> frozenset[str]:
    """Return the names, in lower case, of files that programs read by themselves and obey (H15).

    The names that `agents` obey are included.
    """
    return _STEERING.union(*(agent.settings for agent in agents))


def refuse_steering(names: Iterable[str], steering: AbstractSet[str]) -> None:
    """Raise `WorkspaceError` (`denied`) if one of the names of a path steers other programs (H15)."""
    for name in names:
        if name.lower() in steering:
            problem = f"Path leads to {name.lower()}, which steers programs outside of the sandbox"
            raise WorkspaceError("denied", f"{problem}. Leave the change to the user.")


def find_own_programs(root: str) -> list[str]:
    """Return the directories within `root` that this program runs from: its modules and its Python (H15)."""
    places = (str(Path(__file__).parents[1]), sys.prefix, sys.exec_prefix, sys.base_prefix, sys.executable)
    found = sorted({real for place in places if place and is_below(real := os.path.realpath(place), root)})
    return [path for path in found if not any(is_below(path, other) for other in found)]


def protect_steering(root: str, steering: AbstractSet[str]) -> list[str]:
    """Return the arguments of bubblewrap that prevent a command from changing files that steer other programs (H15).

    `root` is the workspace, absolute and without links. `steering` is the result of `list_steering_names`.

    Git directories stay writable, except for some of their entries. They are mounts themselves, because a command
    cannot rename a mount. The same is true for the directories above the files that a git configuration names.
    """
    kept = find_own_programs(root)
    mounted: list[str] = []
    for named in _find_present(root, steering):
        path = os.path.realpath(named)
        if not is_below(path, root):
            # It is a link to a place outside of the workspace, which is read-only.
            continue
        if Path(named).name.lower() != ".git" or not Path(path).is_dir():
            kept.append(path)
            continue
        repositories = _find_repositories(path)
        above = {str(place) for git in repositories for place in (Path(git), *Path(git).parents)}
        mounted += sorted(place for place in above if place == path or is_below(place, path))
        kept += [entry for git in repositories for name in _IN_GIT if _is_kept(entry := f"{git}/{name}")]
        for entry in _read_config_names(path):
            kept.append(entry)
            mounted += (str(place) for place in Path(entry).parents if is_below(str(place), root))
    binds = [("--bind-try", path) for path in sorted(set(mounted))] + [("--ro-bind-try", path) for path in kept]
    return [word for option, path in binds for word in (option, path, path)]


def remove_commondir(root: str) -> None:
    """Remove the file `commondir` in `.git`, which makes git read its configuration from another place (H15).

    The git directory of a whole repository does not need it. A mount could not prevent a command from creating it,
    because a mount needs an existing file.
    """
    git = Path(root, ".git")
    with suppress(OSError):
        if not git.is_symlink() and (git / "objects").is_dir():
            (git / _COMMONDIR).unlink(missing_ok=True)


class SteeringWatch:
    """The state of the files that steer other programs, when this object is created. It stores no content (H15)."""

    def __init__(self, root: str, steering: AbstractSet[str]) -> None:
        self._steering = steering
        self._root = os.path.realpath(root)
        self._has_git = Path(self._root, ".git").exists()
        self._before = self._look()

    def find_change(self) -> str | None:
        """Return a path that was created, changed or removed since then, relative to the workspace; None for no change.

        A new repository is not a change: the commands created it, and the adapter runs no program in it.
        """
        now = self._look()
        if len(now) > _MOST_ENTRIES:
            return f"{next(iter(now))[0]} and {_MOST_ENTRIES} other files"
        for path, *_ in sorted(set(now).symmetric_difference(self._before)):
            return path
        return None

    def _look(self) -> list[_Status]:
        return list(islice(self._list_entries(), _MOST_ENTRIES + 1))

    def _list_entries(self) -> Iterator[_Status]:
        for path in _find_present(self._root, self._steering):
            if Path(path).name == ".git":
                if self._has_git:
                    yield from self._read_status(path, inode_only=Path(path).is_dir())
                    for git in _find_repositories(path):
                        for name in _IN_GIT:
                            yield from self._walk_below(f"{git}/{name}")
            else:
                yield from self._walk_below(path)

    def _walk_below(self, start: str) -> Iterator[_Status]:
        paths = [(start, 0)]
        while paths:
            path, depth = paths.pop()
            yield from self._read_status(path)
            if depth == _DEEPEST:
                continue
            with suppress(OSError):
                names = sorted(os.listdir(path))  # noqa: PTH208 - a string, which may have any character
                paths += [(f"{path}/{name}", depth + 1) for name in names if name != _COPIES]

    def _read_status(self, path: str, *, inode_only: bool = False) -> Iterator[_Status]:
        """Yield a value that changes whenever the file at the path changes; for a link, also the target's value."""
        for follow in (False, True):
            with suppress(OSError):
                found = os.stat(path, follow_symlinks=follow)  # noqa: PTH116 - as above
                changed = 0 if inode_only else found.st_ctime_ns
                yield os.path.relpath(path, self._root), found.st_dev, found.st_ino, changed


def _find_present(root: str, steering: AbstractSet[str]) -> list[str]:
    with suppress(OSError):
        names = sorted(os.listdir(root))  # noqa: PTH208 - as above
        return [f"{root}/{name}" for name in names if name.lower() in steering]
    return []


def _find_repositories(git: str) -> list[str]:
    """Return a git directory, and the git directories of its submodules and worktrees."""
    found = [git]
    ahead = [f"{git}/modules"]
    while ahead and len(found) < _MOST_REPOSITORIES:
        for directory in _list_directories(ahead.pop()):
            if Path(directory, "HEAD").is_file():
                found.append(directory)
                ahead.append(f"{directory}/modules")
            else:
                ahead.append(directory)
    return [*found, *(path for each in found for path in _list_directories(f"{each}/worktrees"))]


def _list_directories(path: str) -> list[str]:
    with suppress(OSError), os.scandir(path) as entries:
        return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    return []


def _read_config_names(git: str) -> Iterator[str]:
    """Yield the files and directories of the workspace that the configuration includes, or names as hooks."""
    root = git.rpartition("/")[0]
    with suppress(OSError):
        with open(f"{git}/config", "rb") as file:  # noqa: PTH123 - as above
            text = file.read(_MOST_CONFIG_BYTES)
        for name in _NAMED_BY_CONFIG.findall(text):
            for base in (git, root):
                path = os.path.realpath(f"{base}/{os.fsdecode(name.strip())}")
                if is_below(path, root) and Path(path).exists():
                    yield path


def _is_kept(path: str) -> bool:
    return Path(path).exists() and not Path(path).is_symlink()
