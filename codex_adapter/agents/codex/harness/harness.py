"""Run turns with the Codex CLI: one run for each turn, with one CODEX_HOME for each conversation (U5, U9, U10)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import trio

from codex_adapter import AdapterError, CodexBackend, CodexConfig, Completion, RunHandle, RunRequest
from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.agent import AGENT
from codex_adapter.agents.codex.harness.conversation_home import CodexHome
from codex_adapter.agents.codex.harness.home_files import foreign_skills, home_files, instructions_digest
from codex_adapter.agents.codex.harness.installed import Installation, Installed
from codex_adapter.agents.codex.harness.releases import check_release, missing
from codex_adapter.agents.codex.harness.user_home import UserHome, read_user_home
from codex_adapter.agents.codex.kind import KIND
from codex_adapter.agents.codex.settings import check_settings
from codex_adapter.file_systems import work_through
from codex_adapter.harness import HarnessTurn
from codex_adapter.harness.attachments import link_images, sort_attachments
from codex_adapter.harness.conversation_home import is_session
from codex_adapter.harness.failures import failure
from codex_adapter.hints import ADVICE
from codex_adapter.spaces import Environment, Reach
from codex_adapter.turn_errors import AgentSpacesError, TurnError

__all__ = ["CodexHarness"]

_SANDBOXES: Final = {
    None: "workspace-write",
    "read-only": "read-only",
    "workspace-write": "workspace-write",
    "full": "danger-full-access",
}


class _Model(NamedTuple):
    """A model and its provider; `name` is None for the CLI's own choice."""

    provider: str
    name: str | None


class CodexHarness:
    """The Codex CLI as a harness. It runs any number of turns concurrently, but only one for each conversation.

    `config` configures the CLI. The login and the models are those of its `codex_home`, by default of the
    CODEX_HOME of this process.
    """

    def __init__(self, config: CodexConfig | None = None) -> None:
        self._config = CodexConfig() if config is None else config
        # All turns share one backend, because it remembers the level of containment.
        self._backend = CodexBackend(self._config)
        self._installation = Installation(self._backend)

    @property
    def id(self) -> str:
        """Return the agent's kind."""
        return KIND

    async def check(self) -> None:
        """Raise `TurnError` if the CLI is not installed or does not run, or if its settings cannot be read (U5)."""
        if not await self._installation.works():
            raise TurnError(
                "The Codex CLI is not installed or does not work. Run `codex-adapter doctor` for the next step."
            )
        await self._user_home()

    async def models(self) -> tuple[str, ...] | None:
        """Return the user's model and the models that the installed CLI lists, each as `PROVIDER/NAME` (U5)."""
        listed = await self._installation.models()
        if listed is None:
            return None
        try:
            user = await self._user_home()
        except TurnError:
            return None
        preferred = self._config.model or user.model
        names = listed if preferred is None else (preferred, *listed)
        return tuple(dict.fromkeys(f"{user.provider_name}/{name}" for name in names))

    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the directories that the sandbox of `workspace-write` leaves writable (U10)."""
        if _SANDBOXES[environment.permissions] != "workspace-write":
            return ()
        user = read_user_home(self._environ())
        roots = (cwd, *user.writable({**self._environ(), **environment.env, **env}))
        user.refuse_within(Reach.into(roots))
        return roots

    @asynccontextmanager
    async def open(self, turn: HarnessTurn) -> AsyncIterator[RunHandle]:
        """Open the run of a turn. Raise `TurnError` before the start, OSError, or the errors of a run. (U9, U10)"""
        env = {**turn.environment.env, **turn.env}
        installed = await self._installation.find(env)
        home = CodexHome(turn.directory)
        with home.exclusive():
            request = await work_through(self._prepare, turn, env, installed, home)
            async with self._backend.open_run(request, mask_env=turn.server_env) as run:
                yield run

    def failure(self, outcome: Completion | AdapterError) -> AgentSpacesError | None:
        """Return why a run failed, or None (U6)."""
        return failure(outcome, AGENT.name)

    async def _user_home(self) -> UserHome:
        # A read of a few megabytes can take minutes. An abandoned read has no effect.
        return await trio.to_thread.run_sync(read_user_home, self._environ(), abandon_on_cancel=True)

    def _environ(self) -> dict[str, str]:
        """Return the environment of a run that sets no variables. Its CODEX_HOME is the user's."""
        home = {} if self._config.codex_home is None else {"CODEX_HOME": self._config.codex_home}
        return {**os.environ, **home, **self._config.env}

    def _prepare(self, turn: HarnessTurn, env: Mapping[str, str], installed: Installed, home: CodexHome) -> RunRequest:
        """Check the turn, write its CODEX_HOME, and return its request. Block on files."""
        environment = turn.environment
        if not str(home.path).isprintable() or set(str(home.path)) & set("$`\"'"):
            raise TurnError(
                "The path of aspHome contains $ ` \" ' or a character that is not printable. Use another path."
            )
        check_settings("config.settings", self._config.settings, "turn")
        attachments = sort_attachments(turn.attachments)
        check_release(installed, turn, attachments)
        _check_session(turn, home, installed)
        user = read_user_home(self._environ())
        model = self._model(turn, user)
        environ = {**self._environ(), **env}
        files = home_files(environment, user, model.provider, home=home.path, hidden=foreign_skills(environ))
        home.furnish(files, environment.skills, user.logins(model.provider, environ))
        if turn.session is None:
            home.record_start(instructions_digest(environment))
        # The turn cannot override these variables.
        places = {"CODEX_HOME": str(home.path), "CODEX_SQLITE_HOME": str(home.path)}
        return RunRequest(
            prompt=attachments.prompt(turn.prompt),
            working_dir=turn.cwd,
            env={**env, **places},
            extensions=_extensions(turn, model.name, link_images(attachments.images, home.images, _is_readable)),
        )

    def _model(self, turn: HarnessTurn, user: UserHome) -> _Model:
        if turn.model is None:
            return _Model(user.provider_name, self._config.model or user.model)
        provider, slash, name = turn.model.partition("/")
        if not (provider and slash and name):
            raise TurnError("a model of this harness must have the form PROVIDER/NAME", "model_not_supported")
        return _Model(provider, name)


def _check_session(turn: HarnessTurn, home: CodexHome, installed: Installed) -> None:
    """Raise `TurnError` for a conversation that cannot be resumed here (U8, U9)."""
    if turn.session is None:
        return
    if not (is_session(turn.session) and home.has(turn.session)):
        raise TurnError(ADVICE["session_unknown"], "harness_session_not_found")
    error = missing(installed, "other_instructions")
    if error is not None and home.start_digest() != instructions_digest(turn.environment):
        raise error


def _is_readable(image: str) -> bool:
    """Return whether the CLI reads this path right: it splits an argument at commas."""
    return "," not in image and image.isprintable()


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
