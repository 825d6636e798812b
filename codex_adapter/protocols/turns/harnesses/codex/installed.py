"""Which Codex CLI is installed here, of which release it is, and the models that it brings with it (U5)."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec
import trio

from codex_adapter import AdapterError, CodexBackend, CodexConfig
from codex_adapter.workspace import Containment, Workspace, WorkspaceError, run_command

__all__ = ["Installation", "Installed", "Release"]

Release: TypeAlias = tuple[int, int, int]
_OLDEST: Final[Release] = (0, 44, 0)
"""Before, a run could not be understood."""
_LISTS_MODELS: Final[Release] = (0, 125, 0)
_SECONDS: Final = 20.0
_LONGEST_LIST: Final = 16 * 1024 * 1024


class Installed(NamedTuple):
    """A binary, and its release where it tells one; a build from source does not."""

    path: str
    release: Release | None

    def since(self, release: Release) -> bool:
        """Whether it is of this release or a newer one; what tells no release is taken for the newest."""
        return self.release is None or self.release >= release


class _Model(msgspec.Struct):
    slug: str
    visibility: str = "list"
    priority: int = 0


class _Models(msgspec.Struct):
    models: list[_Model]


_Key: TypeAlias = tuple[str, int, int, int, int]


class Installation:
    """Looks for the CLI of a configuration, and remembers what a binary has told for as long as it is the same."""

    def __init__(self, config: CodexConfig) -> None:
        self._backend = CodexBackend(config)
        self._containment = Containment()
        self._models: dict[_Key, tuple[str, ...]] = {}
        self._asking = trio.Lock()

    async def find(self, env: Mapping[str, str]) -> Installed:
        """The CLI that a run with these variables executes. Raises `SpawnError`, and OSError."""
        # Whatever it is asked, the CLI leaves files in its home.
        with tempfile.TemporaryDirectory(prefix="codex_release") as home:
            path, version = await self._backend.installed({**env, "CODEX_HOME": home})
        return Installed(path, None if version is None else version[:3])

    async def models(self) -> tuple[str, ...] | None:
        """The models that the CLI lists by itself, its default first; None where there is no CLI that works (U5).

        Releases that have no such list give an empty tuple.
        """
        try:
            found = await self.find({})
            key = await _key(found.path)
        except (AdapterError, OSError):
            return None
        if not found.since(_OLDEST):
            return None
        if not found.since(_LISTS_MODELS):
            return ()
        async with self._asking:
            if key not in self._models:
                listed = await self._ask(found.path)
                if listed is None:
                    # A release that tells its number works, even if it was too busy to tell more.
                    return None if found.release is None else ()
                self._models[key] = listed
            return self._models[key]

    async def _ask(self, path: str) -> tuple[str, ...] | None:
        """What the CLI's own command says, in a home of its own, which is empty and away afterwards."""
        try:
            with tempfile.TemporaryDirectory(prefix="codex_models") as home, Workspace(home) as place:
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
        if done.exit_code != 0 or done.stdout.left_out:
            return None
        try:
            listed = msgspec.json.decode(done.stdout.head, type=_Models).models
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None
        shown = [model for model in listed if model.visibility == "list"]
        return tuple(model.slug for model in sorted(shown, key=lambda model: model.priority))


async def _key(path: str) -> _Key:
    facts = await trio.Path(path).stat()
    return (path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)
