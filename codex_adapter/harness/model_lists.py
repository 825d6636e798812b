"""Ask installed programs for the models that they list, and remember the answers (U5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import trio

from codex_adapter import AdapterError
from codex_adapter.runtime.containment.marks import new_mark
from codex_adapter.runtime.private_file import private_directory
from codex_adapter.workspace import Containment, Workspace, WorkspaceError, run_command

__all__ = ["Listing", "ModelLists"]

_SECONDS: Final = 20.0
_KILLED: Final = 128
"""The exit status of a shell whose command died of a signal is this plus the signal's number."""
_LONGEST_LIST: Final = 16 * 1024 * 1024
_Facts: TypeAlias = tuple[str, int, int, int, int]


class Listing(NamedTuple):
    """The answer of a program. `models` is None if the program completed without a list that could be read."""

    models: tuple[str, ...] | None


class ModelLists:
    """The models of programs, which are remembered until a file changes.

    `home_variable` names the directory of the CLI's own files, `read` reads the output of the command.
    """

    def __init__(self, home_variable: str, read: Callable[[bytes], tuple[str, ...] | None]) -> None:
        self._home_variable = home_variable
        self._read = read
        self._containment = Containment()
        self._models: dict[tuple[_Facts, ...], tuple[str, ...]] = {}
        self._asking = trio.Lock()
        self._failures = 0

    async def ask(self, path: str, command: str, env: Mapping[str, str], links: Sequence[Path] = ()) -> Listing | None:
        """Return the models that the program at `path` lists with a shell command; None if it does not complete.

        The command runs in the home of the CLI, a directory of its own with links to the files `links`. If one of them
        changes, the program is asked again. The TMPDIR of the command is removed with the home.
        """
        try:
            key = tuple([await _facts(file) for file in (path, *map(str, links))])
        except OSError:
            return None
        failures = self._failures
        async with self._asking:
            if key in self._models:
                return Listing(self._models[key])
            if failures != self._failures:
                # The caller has already waited for a listing that failed, and does not wait again.
                return None
            output = await self._run(command, env, links)
            if output is None:
                self._failures += 1
                return None
            listed = self._read(output)
            if listed is not None:
                self._models[key] = listed
            return Listing(listed)

    async def _run(self, command: str, env: Mapping[str, str], links: Sequence[Path]) -> bytes | None:
        """Return the output of a command, or None if it did not complete. It is empty if the command failed."""
        try:
            async with private_directory(new_mark()) as temporary:
                home = Path(temporary, "home")
                home.mkdir()
                for link in links:
                    (home / link.name).symlink_to(link)
                with Workspace(str(home), agents=()) as place:
                    done = await run_command(
                        place,
                        command,
                        env={**env, self._home_variable: str(home), "TMPDIR": temporary},
                        timeout=_SECONDS,
                        sandbox=None,
                        keep=_LONGEST_LIST,
                        containment=self._containment,
                    )
        except (AdapterError, WorkspaceError, OSError):
            return None
        if done.timed_out or done.exit_code > _KILLED:
            return None
        return b"" if done.exit_code != 0 or done.stdout.left_out else done.stdout.head


async def _facts(path: str) -> _Facts:
    facts = await trio.Path(path).stat()
    return (path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)
