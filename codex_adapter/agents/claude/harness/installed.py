"""Find the installed Claude Code, its release, and the models that it lists (U5)."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from codex_adapter import AdapterError
from codex_adapter.agents.claude.binary import PROGRAM, find_binary
from codex_adapter.agents.claude.command import QUIET, merge_environment
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.agents.claude.releases import TURNS
from codex_adapter.file_systems import inquire
from codex_adapter.harness.model_lists import ModelLists
from codex_adapter.runtime.programs import Version, versions_of_this_run
from codex_adapter.turn_errors import TurnError

__all__ = ["Installation", "Installed"]

_ALIASES: Final = ("opus", "sonnet", "haiku")
"""The names that every release knows, the default first."""
_DEFAULT: Final = "default"
_QUESTION: Final = json.dumps(
    {"type": "control_request", "request_id": "models", "request": {"subtype": "initialize"}}, separators=(",", ":")
)
_FLAGS: Final = "-p --input-format stream-json --output-format stream-json --verbose --setting-sources ''"


class Installed(NamedTuple):
    """A binary and its release. A binary that reports no release (None) is treated as the newest release."""

    path: str
    release: Version | None


class _Model(msgspec.Struct):
    value: str


class _Models(msgspec.Struct):
    models: list[_Model]


class _Response(msgspec.Struct):
    response: _Models


class _Line(msgspec.Struct, tag="control_response"):
    response: _Response


class Installation:
    """The CLI of a configuration, and its models, which are remembered until the file changes."""

    def __init__(self, config: ClaudeConfig) -> None:
        self._config = config
        self._lists = ModelLists("CLAUDE_CONFIG_DIR", _read)

    async def find(self, env: Mapping[str, str]) -> Installed:
        """Return the CLI that a run with these variables executes.

        Raise `SpawnError` or OSError. Raise `TurnError` if its release does not support turns (U9).
        """
        environ = merge_environment(os.environ, self._config, env, RunOptions())
        binary = await inquire(lambda inquiry: find_binary(self._config, environ, inquiry.at))
        release = await versions_of_this_run(PROGRAM).of(binary, environ, self._config)
        if release is not None and release[:3] < TURNS[:3]:
            raise TurnError(f"Turns need release {TURNS} or newer of Claude Code, but {release} is installed.")
        return Installed(binary.path, release)

    async def works(self) -> bool:
        """Return whether a supported CLI is installed. Raise `TurnError` for an old release (U5)."""
        try:
            found = await self.find({})
        except (AdapterError, OSError):
            return False
        # A program that reports no release must list models to count as this CLI.
        return found.release is not None or await self._listed(found) is not None

    async def models(self) -> tuple[str, ...] | None:
        """Return the names of the models, the default first; None if the CLI cannot list them now (U5)."""
        try:
            listed = await self._listed(await self.find({}))
        except (AdapterError, TurnError, OSError):
            return None
        return None if listed is None else tuple(dict.fromkeys((_ALIASES[0], *listed, *_ALIASES)))

    async def _listed(self, found: Installed) -> tuple[str, ...] | None:
        command = f"printf '%s\\n' {shlex.quote(_QUESTION)} | {shlex.quote(found.path)} {_FLAGS}"
        listing = await self._lists.ask(found.path, command, QUIET)
        if listing is None:
            return None
        if listing.models is None:
            return None if found.release is None else ()
        return listing.models


def _read(output: bytes) -> tuple[str, ...] | None:
    for line in output.splitlines():
        try:
            listed = msgspec.json.decode(line, type=_Line).response.response.models
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            continue
        return tuple(model.value for model in listed if model.value != _DEFAULT)
    return None
