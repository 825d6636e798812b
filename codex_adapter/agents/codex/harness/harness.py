"""The Codex CLI as a harness: a run of it for each turn, in a home that is the conversation's own (U5, U9, U10)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import trio
from msgspec.structs import replace

from codex_adapter import AdapterError, CodexConfig, Completion, RunHandle, RunRequest, open_run
from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.harness.attachments import link_images, sort_attachments
from codex_adapter.agents.codex.harness.failures import failure
from codex_adapter.agents.codex.harness.home import Home, is_session
from codex_adapter.agents.codex.harness.installed import Installation, Installed
from codex_adapter.agents.codex.harness.materials import foreign_skills, materials, told_digest
from codex_adapter.agents.codex.harness.own_home import SETTINGS_OF_A_TURN, OwnHome, read_own_home
from codex_adapter.agents.codex.harness.releases import check_release, missing
from codex_adapter.file_systems import work_through
from codex_adapter.harness import HarnessTurn
from codex_adapter.hints import ADVICE
from codex_adapter.spaces import Environment
from codex_adapter.spaces.reach import Reach
from codex_adapter.turn_errors import AgentSpacesError, TurnError

__all__ = ["CodexHarness"]

_SANDBOXES: Final = {
    None: "workspace-write",
    "read-only": "read-only",
    "workspace-write": "workspace-write",
    "full": "danger-full-access",
}


class _Model(NamedTuple):
    """What is asked of which model provider; None for the CLI's own choice."""

    provider: str
    name: str | None


class CodexHarness:
    """Any number of turns at once, those of one conversation one after another.

    `config` is how the CLI is run; its `codex_home`, or the one of this process, is whose login and models are used.
    """

    def __init__(self, config: CodexConfig | None = None) -> None:
        self._config = CodexConfig() if config is None else config
        self._installation = Installation(self._config)

    @property
    def id(self) -> str:
        """`codex`."""
        return "codex"

    async def check(self) -> None:
        """See that the CLI is there and runs, and that its user's settings can be read (U5). Raises `TurnError`."""
        if not await self._installation.works():
            raise TurnError(
                "the Codex CLI is not installed here, or does not work; `codex-adapter doctor` tells what to do"
            )
        await self._own()

    async def models(self) -> tuple[str, ...] | None:
        """What the installed CLI lists, and before it what its user has chosen, each as `PROVIDER/NAME` (U5)."""
        listed = await self._installation.models()
        if listed is None:
            return None
        try:
            own = await self._own()
        except TurnError:
            return None
        chosen = self._config.model or own.model
        names = listed if chosen is None else (chosen, *listed)
        return tuple(dict.fromkeys(f"{own.provider_name}/{name}" for name in names))

    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return what the sandbox of `workspace-write` leaves open, by the user's settings too (U10)."""
        if _SANDBOXES[environment.permissions] != "workspace-write":
            return ()
        own = read_own_home(self._environ())
        roots = (cwd, *own.writable({**self._environ(), **environment.env, **env}))
        own.refuse_within(Reach.into(roots))
        return roots

    @asynccontextmanager
    async def open(self, turn: HarnessTurn) -> AsyncIterator[RunHandle]:
        """The run of a turn (U9, U10). Raises `TurnError` before anything is started, OSError, and as runs do."""
        given = {**turn.environment.env, **turn.env}
        installed = await self._installation.find(given)
        home = Home(turn.directory)
        with home.held():
            request = await work_through(self._prepare, turn, given, installed, home)
            async with open_run(request, config=_masking(self._config, turn)) as run:
                yield run

    def failure(self, outcome: Completion | AdapterError) -> AgentSpacesError | None:
        """Why a run did not go well, None where it did (U6)."""
        return failure(outcome)

    async def _own(self) -> OwnHome:
        # A file of a few megabytes can take minutes to read; who leaves it then leaves nothing.
        return await trio.to_thread.run_sync(read_own_home, self._environ(), abandon_on_cancel=True)

    def _environ(self) -> dict[str, str]:
        """The environment of a run that is given nothing; the home in it is the user's."""
        home = {} if self._config.codex_home is None else {"CODEX_HOME": self._config.codex_home}
        return {**os.environ, **home, **self._config.env}

    def _prepare(self, turn: HarnessTurn, given: Mapping[str, str], installed: Installed, home: Home) -> RunRequest:
        """All that comes before the start, checks first. Blocks."""
        environment = turn.environment
        if not str(home.path).isprintable() or set(str(home.path)) & set("$`\"'"):
            raise TurnError("the path of aspHome must have printable characters only, and none of $ ` \" '")
        if not SETTINGS_OF_A_TURN.issuperset(key.partition(".")[0] for key in self._config.settings):
            raise TurnError(
                "among config.settings is one that a turn does not take; leave it out, or put it in a space"
            )
        attachments = sort_attachments(turn.attachments)
        check_release(installed, turn, attachments)
        _check_session(turn, home, installed)
        own = read_own_home(self._environ())
        model = self._model(turn, own)
        environ = {**self._environ(), **given}
        files = materials(environment, own, model.provider, home=home.path, hidden=foreign_skills(environ))
        home.furnish(files, environment.skills, own.logins(model.provider, environ))
        if turn.session is None:
            home.begin(told_digest(environment))
        # Whatever a turn is given for these, they are ours.
        places = {"CODEX_HOME": str(home.path), "CODEX_SQLITE_HOME": str(home.path)}
        return RunRequest(
            prompt=attachments.prompt(turn.prompt),
            working_dir=turn.cwd,
            env={**given, **places},
            extensions=_extensions(turn, model.name, link_images(attachments.images, home.images)),
        )

    def _model(self, turn: HarnessTurn, own: OwnHome) -> _Model:
        if turn.model is None:
            return _Model(own.provider_name, self._config.model or own.model)
        provider, slash, name = turn.model.partition("/")
        if not (provider and slash and name):
            raise TurnError("a model of this harness is PROVIDER/NAME", "model_not_supported")
        return _Model(provider, name)


def _masking(config: CodexConfig, turn: HarnessTurn) -> CodexConfig:
    """The agent can read the settings of its servers, and would tell their secrets (U10)."""
    found = dict(config.mask_env)
    for server in turn.environment.servers:
        for name, value in server.env.items():
            found[name if found.get(name, value) == value else f"{name}_{server.name}"] = value
    return replace(config, mask_env=found)


def _check_session(turn: HarnessTurn, home: Home, installed: Installed) -> None:
    """Raises `TurnError` for a conversation that cannot go on here (U8, U9)."""
    if turn.session is None:
        return
    if not (is_session(turn.session) and home.has(turn.session)):
        raise TurnError(ADVICE["session_unknown"], "harness_session_not_found")
    error = missing(installed, "other_instructions")
    if error is not None and home.began_with() != told_digest(turn.environment):
        raise error


def _extensions(turn: HarnessTurn, model: str | None, images: Sequence[str]) -> dict[str, Any]:
    extensions: dict[str, Any] = {
        keys.SANDBOX_MODE: _SANDBOXES[turn.environment.permissions],
        keys.TOOL_PAYLOADS: "full",
    }
    if model is not None:
        extensions[keys.MODEL] = model
    if turn.session is not None:
        extensions[keys.RESUME] = {"selector": "id", "id": turn.session}
    if images:
        extensions[keys.IMAGES] = list(images)
    return extensions
