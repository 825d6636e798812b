"""Run turns with pi: one run for each turn, with one directory for each conversation (U5, U9, U17, U18)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from typing_extensions import override

from codex_adapter import RunRequest
from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.agent import AGENT
from codex_adapter.agents.pi.command import merge_environment
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.harness.conversation_home import PiHome
from codex_adapter.agents.pi.harness.installed import PiInstallation
from codex_adapter.agents.pi.harness.user_home import UserHome, read_user_home
from codex_adapter.harness import HarnessTurn
from codex_adapter.harness.agent_harness import AgentHarness
from codex_adapter.harness.attachments import link_images, sort_attachments
from codex_adapter.harness.installation import Installed
from codex_adapter.spaces import Environment
from codex_adapter.turn_errors import TurnError

__all__ = ["PiHarness"]

_SANDBOXES: Final = {None: "read-only", "read-only": "read-only", "full": "danger-full-access"}


class PiHarness(AgentHarness[PiHome, UserHome]):
    """pi as a harness. It runs any number of turns concurrently, but only one for each conversation.

    `config` configures the CLI. The logins, the models and the default model are those of its `agent_dir`, by default
    of the PI_CODING_AGENT_DIR of this process.
    """

    def __init__(self, config: PiConfig | None = None) -> None:
        self._config = PiConfig() if config is None else config
        super().__init__(AGENT, self._config, PiInstallation(self._config), PiHome)

    @override
    def read_user(self) -> UserHome:
        """Implement `AgentHarness.read_user`."""
        return read_user_home(self._environ())

    @override
    def rank(self, listed: Sequence[str], user: UserHome) -> Iterable[str]:
        """Implement `AgentHarness.rank` (U16)."""
        default = "/".join(user.model or ()) if self._config.model is None else self._config.model
        return [*(name for name in listed if default in (name, name.partition("/")[2])), *listed]

    @override
    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return no directory: the agent can either write nothing, or nothing confines it (U18)."""
        del cwd, env
        _sandbox(environment)
        return ()

    def _environ(self) -> dict[str, str]:
        """Return the environment of a run that sets no variables. Its PI_CODING_AGENT_DIR is the user's."""
        return merge_environment(os.environ, self._config, {})

    @override
    def prepare(self, turn: HarnessTurn, env: Mapping[str, str], home: PiHome, installed: Installed) -> RunRequest:
        """Implement `AgentHarness.prepare` (U17, U18)."""
        environment = turn.environment
        _refuse_missing(environment)
        attachments = sort_attachments(turn.attachments)
        home.check_session(turn.session)
        user = self.read_user()
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
