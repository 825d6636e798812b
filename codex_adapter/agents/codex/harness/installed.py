"""Find the installed Codex CLI, its release, and the models that it lists (U5)."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from typing import Final

import msgspec
from typing_extensions import override

from codex_adapter import CodexBackend, CodexConfig
from codex_adapter.agents.codex.binary import PROGRAM
from codex_adapter.agents.codex.releases import MINIMUM, quirk
from codex_adapter.harness.installation import Installation, Installed
from codex_adapter.harness.model_lists import ModelLists

__all__ = ["CodexInstallation"]

_LISTS_MODELS: Final = quirk("lists_models")


class _Model(msgspec.Struct):
    slug: str
    visibility: str = "list"
    priority: int = 0


class _Models(msgspec.Struct):
    models: list[_Model]


class CodexInstallation(Installation):
    """The CLI of a configuration, and its models, which are remembered until the file changes."""

    def __init__(self, config: CodexConfig) -> None:
        super().__init__(PROGRAM.name, MINIMUM)
        self._backend = CodexBackend(config)
        self._lists = ModelLists("CODEX_HOME", _read)

    @override
    async def installed(self, env: Mapping[str, str]) -> Installed:
        """Implement `Installation.installed`."""
        # The CLI creates files in its home even when it only prints its release.
        with tempfile.TemporaryDirectory(prefix="codex_release") as home:
            return Installed(*await self._backend.installed({**env, "CODEX_HOME": home}))

    @override
    async def listed(self, found: Installed) -> tuple[str, ...] | None:
        """Implement `Installation.listed`. If the list cannot be parsed, the result is an empty tuple."""
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
