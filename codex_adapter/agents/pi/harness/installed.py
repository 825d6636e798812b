"""Find the installed pi, its release, and the models that it lists (U5, U16)."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from typing_extensions import override

from codex_adapter.agents.pi.binary import PROGRAM, find_binary, release_of
from codex_adapter.agents.pi.command import merge_environment
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.harness.user_home import login_files
from codex_adapter.agents.pi.releases import TURNS
from codex_adapter.file_systems import inquire, work_through
from codex_adapter.harness.installation import Installation, Installed
from codex_adapter.harness.model_lists import ModelLists

__all__ = ["PiInstallation"]

_COLUMNS: Final = re.compile(r"\s{2,}")
_HEAD: Final = ["provider", "model"]
_EMPTY: Final = "No models available"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_QUESTION: Final = '{"type":"get_state"}'
_FLAGS: Final = "--no-session --no-extensions --no-skills --no-prompt-templates --no-themes --no-context-files"


class _Model(msgspec.Struct):
    provider: str
    id: str


class _State(msgspec.Struct):
    model: _Model


class _Answer(msgspec.Struct, tag="response"):
    data: _State


class PiInstallation(Installation):
    """The CLI of a configuration, and its models, which are remembered until its file or those of the login change."""

    def __init__(self, config: PiConfig) -> None:
        super().__init__(PROGRAM.name, TURNS)
        self._config = config
        self._lists = ModelLists("PI_CODING_AGENT_DIR", _read)

    @override
    async def installed(self, env: Mapping[str, str]) -> Installed:
        """Implement `Installation.installed`."""
        environ = merge_environment(os.environ, self._config, env)
        binary = await inquire(lambda inquiry: find_binary(self._config, environ, inquiry.at))
        return Installed(binary.path, await release_of(binary, environ, self._config))

    @override
    async def listed(self, found: Installed) -> tuple[str, ...] | None:
        """Implement `Installation.listed`: the models of the user's logins, as `PROVIDER/NAME`."""
        program = shlex.quote(found.path)
        command = f"printf '%s\\n' '{_QUESTION}' | {program} --mode rpc {_FLAGS}; {program} --list-models {_FLAGS}"
        environ = merge_environment(os.environ, self._config, {})
        env = {name: value for name, value in environ.items() if _VARIABLE.fullmatch(name)}
        listing = await self._lists.ask(found.path, command, env, await work_through(login_files, environ))
        return None if listing is None else listing.models


def _read(output: bytes) -> tuple[str, ...] | None:
    lines = output.decode(errors="replace").splitlines()
    table = [_COLUMNS.split(line.strip()) for line in lines]
    begin = next((number for number, cells in enumerate(table) if cells[:2] == _HEAD), None)
    if begin is None:
        return () if any(line.startswith(_EMPTY) for line in lines) else None
    listed = [f"{cells[0]}/{cells[1]}" for cells in table[begin + 1 :] if len(cells) == len(table[begin])]
    default = next(_defaults(output), None)
    return tuple(dict.fromkeys([default, *listed] if default in listed else listed))


def _defaults(output: bytes) -> Iterator[Any]:
    """Yield the model that the CLI itself selects, if it printed its state."""
    for line in output.splitlines():
        try:
            model = msgspec.json.decode(line, type=_Answer).data.model
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            continue
        yield f"{model.provider}/{model.id}"
