"""Run turns with Claude Code: one run for each turn, with one configuration for each conversation (U5, U9, U10)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from typing_extensions import override

from codex_adapter import RunRequest
from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.agent import AGENT
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.harness.conversation_home import ClaudeHome
from codex_adapter.agents.claude.harness.home_files import home_files
from codex_adapter.agents.claude.harness.installed import ClaudeInstallation
from codex_adapter.agents.claude.harness.user_home import API, UserHome, read_user_home, writable_directories
from codex_adapter.harness import HarnessTurn
from codex_adapter.harness.agent_harness import AgentHarness
from codex_adapter.harness.attachments import link_images, sort_attachments
from codex_adapter.harness.installation import Installed
from codex_adapter.spaces import Environment, Reach
from codex_adapter.turn_errors import TurnError

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


class ClaudeHarness(AgentHarness[ClaudeHome, UserHome]):
    """Claude Code as a harness. It runs any number of turns concurrently, but only one for each conversation.

    `config` configures the CLI. The login and the default model are those of its `config_dir`, by default of the
    CLAUDE_CONFIG_DIR of this process.
    """

    def __init__(self, config: ClaudeConfig | None = None) -> None:
        self._config = ClaudeConfig() if config is None else config
        super().__init__(AGENT, self._config, ClaudeInstallation(self._config), ClaudeHome)

    @override
    def read_user(self) -> UserHome:
        """Implement `AgentHarness.read_user`."""
        return read_user_home(self._environ())

    @override
    def rank(self, listed: Sequence[str], user: UserHome) -> Iterable[str]:
        """Implement `AgentHarness.rank` (U16)."""
        preferred = self._config.model or user.model
        names = listed if preferred is None else (preferred, *listed)
        return [f"{provider}/{name}" for provider in user.providers(self._environ()) for name in names]

    @override
    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the directories that the sandbox of `workspace-write` leaves writable (U10)."""
        if _SANDBOXES[environment.permissions] != "workspace-write":
            return ()
        roots = writable_directories(cwd, {**self._environ(), **environment.env, **env})
        self.read_user().refuse_within(Reach.into(roots))
        return roots

    def _environ(self) -> dict[str, str]:
        """Return the environment of a run that sets no variables. Its CLAUDE_CONFIG_DIR is the user's."""
        home = {} if self._config.config_dir is None else {"CLAUDE_CONFIG_DIR": self._config.config_dir}
        return {**os.environ, **home, **self._config.env}

    @override
    def prepare(self, turn: HarnessTurn, env: Mapping[str, str], home: ClaudeHome, installed: Installed) -> RunRequest:
        """Implement `AgentHarness.prepare` (U9, U10)."""
        environment = turn.environment
        home.check_path()
        attachments = sort_attachments(turn.attachments)
        home.check_session(turn.session)
        user = self.read_user()
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
            prompt=attachments.prompt(turn.prompt),
            working_dir=turn.cwd,
            env={**env, **_WRITE_AT_ONCE, **places},
            extensions={**_extensions(turn, model.name), keys.IMAGES: list(images)},
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
