"""Find the installed Codex CLI, its release, and the models that it lists (U5)."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from codex_adapter import AdapterError, CodexBackend
from codex_adapter.agents.codex.releases import is_supported, quirk
from codex_adapter.harness.model_lists import ModelLists
from codex_adapter.runtime.programs import Version

__all__ = ["Installation", "Installed"]

_LISTS_MODELS: Final = quirk("lists_models")


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


class Installation:
    """The CLI of a configuration, and its models, which are remembered until the file changes."""

    def __init__(self, backend: CodexBackend) -> None:
        self._backend = backend
        self._lists = ModelLists("CODEX_HOME", _read)

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
        command = f"exec {shlex.quote(found.path)} debug models --bundled"
        listing = await self._lists.ask(found.path, command, {"RUST_LOG": "off"})
        if listing is None:
            return None
        if listing.models is None:
            return None if found.release is None else ()
        return listing.models


def _read(output: bytes) -> tuple[str, ...] | None:
    try:
        listed = msgspec.json.decode(output, type=_Models).models
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    shown = [model for model in listed if model.visibility == "list"]
    return tuple(model.slug for model in sorted(shown, key=lambda model: model.priority))
