"""Find the installed Codex CLI, its release, and the models that it lists (U5)."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec
import trio

from codex_adapter import AdapterError, CodexBackend
from codex_adapter.agents.codex.releases import is_supported, quirk
from codex_adapter.runtime.programs import Version
from codex_adapter.workspace import Containment, Workspace, WorkspaceError, run_command

__all__ = ["Installation", "Installed"]

_LISTS_MODELS: Final = quirk("lists_models")
_SECONDS: Final = 20.0
_KILLED: Final = 128
"""The exit status of a shell whose command died of a signal is this plus the signal's number."""
_LONGEST_LIST: Final = 16 * 1024 * 1024


class Installed(NamedTuple):
    """A binary and its release. A binary that reports no release (None) is treated as the newest release."""

    path: str
    release: Version | None


class _Model(msgspec.Struct):
    slug: str
    visibility: str = "list"
    priority: int = 0


class _Models(msgspec.Struct):
    models: list[_Model]


_Key: TypeAlias = tuple[str, int, int, int, int]


class Installation:
    """The CLI of a configuration, and its models, which are remembered until the file changes."""

    def __init__(self, backend: CodexBackend) -> None:
        self._backend = backend
        self._containment = Containment()
        self._models: dict[_Key, tuple[str, ...]] = {}
        self._asking = trio.Lock()
        self._failures = 0

    async def find(self, env: Mapping[str, str]) -> Installed:
        """Return the CLI that a run with these variables executes. Raise `SpawnError` or OSError."""
        # The CLI creates files in its home even when it only prints its release.
        with tempfile.TemporaryDirectory(prefix="codex_release") as home:
            path, version = await self._backend.installed({**env, "CODEX_HOME": home})
        return Installed(path, version)

    async def works(self) -> bool:
        """Return whether a supported CLI is installed (U5)."""
        found = await self._found()
        # A program that reports no release must list models to count as this CLI.
        return found is not None and (found.release is not None or await self._listed(found) is not None)

    async def models(self) -> tuple[str, ...] | None:
        """Return the models that the CLI lists, its default first (U5).

        Return None if no CLI works, or if it cannot list the models now. Return an empty tuple if the release has no
        list, or if the list cannot be parsed.
        """
        found = await self._found()
        return None if found is None else await self._listed(found)

    async def _found(self) -> Installed | None:
        try:
            found = await self.find({})
        except (AdapterError, OSError):
            return None
        return found if found.release is None or is_supported(found.release) else None

    async def _listed(self, found: Installed) -> tuple[str, ...] | None:
        if found.release is not None and not _LISTS_MODELS.holds(found.release):
            return ()
        try:
            key = await _key(found.path)
        except OSError:
            return None
        failures = self._failures
        async with self._asking:
            if key in self._models:
                return self._models[key]
            if failures != self._failures:
                # The caller has already waited for a listing that failed, and does not wait again.
                return None
            output = await self._ask(found.path)
            if output is None:
                self._failures += 1
                return None
            listed = _read(output)
            if listed is None:
                return None if found.release is None else ()
            self._models[key] = listed
            return listed

    async def _ask(self, path: str) -> bytes | None:
        """Return the output of the CLI's list command. Run it with a temporary CODEX_HOME.

        Return None if the command did not complete. Return empty bytes if the CLI does not know the command.
        """
        try:
            with tempfile.TemporaryDirectory(prefix="codex_models") as home, Workspace(home, agents=()) as place:
                command = f"exec {shlex.quote(path)} debug models --bundled"
                env = {"CODEX_HOME": home, "RUST_LOG": "off"}
                done = await run_command(
                    place,
                    command,
                    env=env,
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


def _read(output: bytes) -> tuple[str, ...] | None:
    try:
        listed = msgspec.json.decode(output, type=_Models).models
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    shown = [model for model in listed if model.visibility == "list"]
    return tuple(model.slug for model in sorted(shown, key=lambda model: model.priority))


async def _key(path: str) -> _Key:
    facts = await trio.Path(path).stat()
    return (path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)
