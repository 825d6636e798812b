"""Find the installed Claude Code, its release, and the models that it lists (U5)."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from typing import Final

import msgspec
from typing_extensions import override

from codex_adapter.agents.claude.binary import PROGRAM, find_binary
from codex_adapter.agents.claude.command import QUIET, merge_environment
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.agents.claude.releases import TURNS
from codex_adapter.file_systems import inquire
from codex_adapter.harness.installation import Installation, Installed
from codex_adapter.harness.model_lists import ModelLists
from codex_adapter.runtime.programs import versions_of_this_run

__all__ = ["ClaudeInstallation"]

_ALIASES: Final = ("opus", "sonnet", "haiku")
"""The names that every release knows, the default first."""
_DEFAULT: Final = "default"
_QUESTION: Final = json.dumps(
    {"type": "control_request", "request_id": "models", "request": {"subtype": "initialize"}}, separators=(",", ":")
)
_FLAGS: Final = "-p --input-format stream-json --output-format stream-json --verbose --setting-sources ''"


class _Model(msgspec.Struct):
    value: str


class _Models(msgspec.Struct):
    models: list[_Model]


class _Response(msgspec.Struct):
    response: _Models


class _Line(msgspec.Struct, tag="control_response"):
    response: _Response


class ClaudeInstallation(Installation):
    """The CLI of a configuration, and its models, which are remembered until the file changes."""

    def __init__(self, config: ClaudeConfig) -> None:
        super().__init__(PROGRAM.name, TURNS)
        self._config = config
        self._lists = ModelLists("CLAUDE_CONFIG_DIR", _read)

    @override
    async def installed(self, env: Mapping[str, str]) -> Installed:
        """Implement `Installation.installed`."""
        environ = merge_environment(os.environ, self._config, env, RunOptions())
        binary = await inquire(lambda inquiry: find_binary(self._config, environ, inquiry.at))
        return Installed(binary.path, await versions_of_this_run(PROGRAM).of(binary, environ, self._config))

    @override
    async def listed(self, found: Installed) -> tuple[str, ...] | None:
        """Implement `Installation.listed`, with the names that every release knows."""
        command = f"printf '%s\\n' {shlex.quote(_QUESTION)} | {shlex.quote(found.path)} {_FLAGS}"
        listing = await self._lists.ask(found.path, command, QUIET)
        if listing is None:
            return None
        if listing.models is None and found.release is None:
            return None
        return tuple(dict.fromkeys((_ALIASES[0], *(listing.models or ()), *_ALIASES)))


def _read(output: bytes) -> tuple[str, ...] | None:
    for line in output.splitlines():
        try:
            listed = msgspec.json.decode(line, type=_Line).response.response.models
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            continue
        return tuple(model.value for model in listed if model.value != _DEFAULT)
    return None
