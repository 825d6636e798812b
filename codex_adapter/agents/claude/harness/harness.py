"""Run turns with Claude Code: one run for each turn, with one configuration for each conversation (U5, U9, U10)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import trio

from codex_adapter import AdapterError, Completion, RunHandle, RunRequest
from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.agent import AGENT
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.harness.conversation_home import ClaudeHome
from codex_adapter.agents.claude.harness.home_files import home_files
from codex_adapter.agents.claude.harness.installed import Installation
from codex_adapter.agents.claude.harness.user_home import API, UserHome, read_user_home, writable_directories
from codex_adapter.file_systems import work_through
from codex_adapter.harness import HarnessTurn
from codex_adapter.harness.attachments import link_images, sort_attachments
from codex_adapter.harness.conversation_home import is_session
from codex_adapter.harness.failures import failure
from codex_adapter.hints import ADVICE
from codex_adapter.runtime.backend import AgentBackend
from codex_adapter.spaces import Environment, Reach
from codex_adapter.turn_errors import AgentSpacesError, TurnError

__all__ = ["ClaudeHarness"]

_SANDBOXES: Final = {
    None: "workspace-write",
    "read-only": "read-only",
    "workspace-write": "workspace-write",
    "full": "danger-full-access",
}
_DEFAULT_MODEL: Final = "opus"
_WRITE_AT_ONCE: Final = {"CLAUDE_CODE_EAGER_FLUSH": "1"}
"""The CLI writes the prompt to the session's file before it asks the model, so a killed turn can be resumed (U8)."""


class _Model(NamedTuple):
    """A model and its provider."""

    provider: str
    name: str


class ClaudeHarness:
    """Claude Code as a harness. It runs any number of turns concurrently, but only one for each conversation.

    `config` configures the CLI. The login and the default model are those of its `config_dir`, by default of the
    CLAUDE_CONFIG_DIR of this process.
    """

    def __init__(self, config: ClaudeConfig | None = None) -> None:
        self._config = ClaudeConfig() if config is None else config
        # All turns share one backend, because it remembers the level of containment.
        self._backend = AgentBackend(AGENT, self._config)
        self._installation = Installation(self._config)

    @property
    def id(self) -> str:
        """Return the name of the harness in requests."""
        return str(AGENT.harness_id)

    async def check(self) -> None:
        """Raise `TurnError` if the CLI is not installed or does not run, or if its settings cannot be read (U5)."""
        if not await self._installation.works():
            raise TurnError(
                "Claude Code is not installed or does not work. Run `codex-adapter doctor --agent claude_code`."
            )
        await self._user_home()

    async def models(self) -> tuple[str, ...] | None:
        """Return the user's model and the models that the CLI lists, each as `PROVIDER/NAME` (U5)."""
        listed = await self._installation.models()
        if listed is None:
            return None
        try:
            user = await self._user_home()
        except TurnError:
            return None
        preferred = self._config.model or user.model
        names = listed if preferred is None else (preferred, *listed)
        providers = user.providers(self._environ())
        return tuple(dict.fromkeys(f"{provider}/{name}" for provider in providers for name in names))

    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the directories that the sandbox of `workspace-write` leaves writable (U10)."""
        if _SANDBOXES[environment.permissions] != "workspace-write":
            return ()
        roots = writable_directories(cwd, {**self._environ(), **environment.env, **env})
        read_user_home(self._environ()).refuse_within(Reach.into(roots))
        return roots

    @asynccontextmanager
    async def open(self, turn: HarnessTurn) -> AsyncIterator[RunHandle]:
        """Open the run of a turn. Raise `TurnError` before the start, OSError, or the errors of a run. (U9, U10)"""
        env = {**turn.environment.env, **turn.env}
        await self._installation.find(env)
        home = ClaudeHome(turn.directory)
        with home.exclusive():
            request = await work_through(self._prepare, turn, env, home)
            async with self._backend.open_run(request, mask_env=turn.server_env) as run:
                yield run

    def failure(self, outcome: Completion | AdapterError) -> AgentSpacesError | None:
        """Return why a run failed, or None (U6)."""
        return failure(outcome, AGENT.name)

    async def _user_home(self) -> UserHome:
        # A read of a few megabytes can take minutes. An abandoned read has no effect.
        return await trio.to_thread.run_sync(read_user_home, self._environ(), abandon_on_cancel=True)

    def _environ(self) -> dict[str, str]:
        """Return the environment of a run that sets no variables. Its CLAUDE_CONFIG_DIR is the user's."""
        home = {} if self._config.config_dir is None else {"CLAUDE_CONFIG_DIR": self._config.config_dir}
        return {**os.environ, **home, **self._config.env}

    def _prepare(self, turn: HarnessTurn, env: Mapping[str, str], home: ClaudeHome) -> RunRequest:
        """Check the turn, write its configuration, and return its request. Block on files."""
        environment = turn.environment
        if not str(home.path).isprintable() or set(str(home.path)) & set("$`\"'"):
            raise TurnError(
                "The path of aspHome contains $ ` \" ' or a character that is not printable. Use another path."
            )
        attachments = sort_attachments(turn.attachments)
        if turn.session is not None and not (is_session(turn.session) and home.has(turn.session)):
            raise TurnError(ADVICE["session_unknown"], "harness_session_not_found")
        user = read_user_home(self._environ())
        model = self._model(turn, user, env)
        files = home_files(
            environment,
            user.settings_for(model.provider),
            home=home.path,
            key=user.key if model.provider == API else None,
            files=attachments.files,
        )
        home.furnish(files, environment.skills)
        # The CLI reads an image only by a path with the extension of its format, which a link has.
        images = link_images(attachments.images, home.images, lambda _: False)
        # The turn cannot override these variables.
        places = {"CLAUDE_CONFIG_DIR": str(home.path), **user.login_env(model.provider, home.path)}
        return RunRequest(
            prompt=attachments.prompt(turn.prompt) + "".join(f'\n@"{image}"' for image in images),
            working_dir=turn.cwd,
            env={**env, **_WRITE_AT_ONCE, **places},
            extensions=_extensions(turn, model.name),
        )

    def _model(self, turn: HarnessTurn, user: UserHome, env: Mapping[str, str]) -> _Model:
        providers = user.providers({**self._environ(), **env})
        if turn.model is None:
            return _Model(providers[0], self._config.model or user.model or _DEFAULT_MODEL)
        provider, _, name = turn.model.partition("/")
        if provider not in providers or not name:
            known = " or ".join(f"{name}/" for name in providers)
            raise TurnError(f"a model of this harness must begin with {known}", "model_not_supported")
        return _Model(provider, name)


def _extensions(turn: HarnessTurn, model: str) -> dict[str, Any]:
    extensions: dict[str, Any] = {
        keys.SANDBOX_MODE: _SANDBOXES[turn.environment.permissions],
        keys.TOOL_PAYLOADS: "full",
        keys.PARTIAL_MESSAGES: True,
        keys.REQUIRE_SERVERS: bool(turn.environment.servers),
        keys.MODEL: model,
    }
    if turn.session is not None:
        extensions[keys.RESUME] = {"selector": "id", "id": turn.session}
    return extensions
