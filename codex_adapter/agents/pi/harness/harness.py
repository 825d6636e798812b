"""Run turns with pi: one run for each turn, with one directory for each conversation (U5, U9, U17, U18)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
import trio

from codex_adapter import AdapterError, Completion, RunHandle, RunRequest
from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.agent import AGENT
from codex_adapter.agents.pi.command import merge_environment
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.harness.conversation_home import PiHome
from codex_adapter.agents.pi.harness.installed import Installation
from codex_adapter.agents.pi.harness.user_home import UserHome, read_user_home
from codex_adapter.file_systems import work_through
from codex_adapter.harness import HarnessTurn
from codex_adapter.harness.attachments import link_images, sort_attachments
from codex_adapter.harness.conversation_home import is_session
from codex_adapter.harness.failures import failure
from codex_adapter.hints import ADVICE
from codex_adapter.runtime.backend import AgentBackend
from codex_adapter.spaces import Environment
from codex_adapter.turn_errors import AgentSpacesError, TurnError

__all__ = ["PiHarness"]

_SANDBOXES: Final = {None: "read-only", "read-only": "read-only", "full": "danger-full-access"}


class PiHarness:
    """pi as a harness. It runs any number of turns concurrently, but only one for each conversation.

    `config` configures the CLI. The logins, the models and the default model are those of its `agent_dir`, by default
    of the PI_CODING_AGENT_DIR of this process.
    """

    def __init__(self, config: PiConfig | None = None) -> None:
        self._config = PiConfig() if config is None else config
        # All turns share one backend, because it remembers the level of containment.
        self._backend = AgentBackend(AGENT, self._config)
        self._installation = Installation(self._config)

    @property
    def id(self) -> str:
        """Return the name of the harness in requests."""
        return str(AGENT.harness_id)

    async def check(self) -> None:
        """Raise `TurnError` if the CLI is not installed, or if its settings cannot be read (U5)."""
        if not await self._installation.works():
            raise TurnError("pi is not installed or does not work. Run `codex-adapter doctor --agent pi`.")
        await self._user_home()

    async def models(self) -> tuple[str, ...] | None:
        """Return the models of the user's logins as `PROVIDER/NAME`, the user's default first (U5, U16)."""
        listed = await self._installation.models()
        if listed is None:
            return None
        try:
            user = await self._user_home()
        except TurnError:
            return None
        default = "/".join(user.model or ()) if self._config.model is None else self._config.model
        first = [name for name in listed if default in (name, name.partition("/")[2])]
        return tuple(dict.fromkeys((*first, *listed)))

    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return no directory: the agent can either write nothing, or nothing confines it (U18)."""
        del cwd, env
        _sandbox(environment)
        return ()

    @asynccontextmanager
    async def open(self, turn: HarnessTurn) -> AsyncIterator[RunHandle]:
        """Open the run of a turn. Raise `TurnError` before the start, OSError, or the errors of a run. (U17, U18)"""
        env = {**turn.environment.env, **turn.env}
        await self._installation.find(env)
        home = PiHome(turn.directory)
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
        """Return the environment of a run that sets no variables. Its PI_CODING_AGENT_DIR is the user's."""
        return merge_environment(os.environ, self._config, {})

    def _prepare(self, turn: HarnessTurn, env: Mapping[str, str], home: PiHome) -> RunRequest:
        """Check the turn, write its directory, and return its request. Block on files."""
        environment = turn.environment
        _refuse_missing(environment)
        attachments = sort_attachments(turn.attachments)
        if turn.session is not None and not (is_session(turn.session) and home.has(turn.session)):
            raise TurnError(ADVICE["session_unknown"], "harness_session_not_found")
        user = read_user_home(self._environ())
        extensions = {**_model(turn, user, self._config), keys.SANDBOX_MODE: _sandbox(environment)}
        home.furnish(_files(environment, user), environment.skills, user.logins)
        images = link_images(attachments.images, home.images, str.isprintable)
        if turn.session is None:
            session = home.begin(turn.cwd)
        else:
            session = turn.session
            home.move(session, turn.cwd)
        if environment.skills:
            extensions[keys.SKILLS] = str(home.skills)
        # The turn cannot override these variables.
        places = {"PI_CODING_AGENT_DIR": str(home.path), "PI_CODING_AGENT_SESSION_DIR": str(home.sessions)}
        return RunRequest(
            prompt=attachments.prompt(turn.prompt),
            working_dir=turn.cwd,
            env={**env, **places},
            extensions={
                **extensions,
                keys.TOOL_PAYLOADS: "full",
                keys.IMAGES: list(images),
                keys.RESUME: {"selector": "id", "id": session},
            },
        )


def _files(environment: Environment, user: UserHome) -> dict[str, bytes]:
    """Return the settings, and the instructions, which the CLI appends to its own."""
    files = {"settings.json": msgspec.json.encode(user.settings)}
    instructions = environment.instructions.strip()
    return {**files, "APPEND_SYSTEM.md": f"{instructions}\n".encode()} if instructions else files


def _model(turn: HarnessTurn, user: UserHome, config: PiConfig) -> dict[str, Any]:
    """Return the extensions that select a model; none if the configuration or the CLI selects it."""
    if turn.model is None:
        if user.model is None or config.model is not None:
            return {}
        provider, name = user.model
    else:
        provider, _, name = turn.model.partition("/")
    if not provider or not name:
        raise TurnError("a model of this harness must be PROVIDER/NAME", "model_not_supported")
    return {keys.PROVIDER: provider, keys.MODEL: name}


def _sandbox(environment: Environment) -> str:
    """Return the sandbox mode of a turn. Raise `TurnError` if the CLI has none for its permissions (U18)."""
    if environment.permissions not in _SANDBOXES:
        raise TurnError(
            "pi has no sandbox, so it cannot have the permissions workspace-write. Use read-only or full in the "
            "settings of the space or the target."
        )
    return _SANDBOXES[environment.permissions]


def _refuse_missing(environment: Environment) -> None:
    """Raise `TurnError` for hooks and servers, which the CLI does not have (U18)."""
    for what, named in (("hooks", environment.hooks), ("MCP servers", environment.servers)):
        if named:
            names = ", ".join(item.name for item in named)
            raise TurnError(f"pi has no {what}. Use another harness, or spaces without these: {names}.")
