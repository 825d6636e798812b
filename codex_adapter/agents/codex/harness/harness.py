"""Run turns with the Codex CLI: one run for each turn, with one CODEX_HOME for each conversation (U5, U9, U10)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from typing_extensions import override

from codex_adapter import CodexConfig, RunRequest
from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.agent import AGENT
from codex_adapter.agents.codex.harness.conversation_home import CodexHome
from codex_adapter.agents.codex.harness.home_files import foreign_skills, home_files, instructions_digest
from codex_adapter.agents.codex.harness.installed import CodexInstallation
from codex_adapter.agents.codex.harness.releases import check_release, missing
from codex_adapter.agents.codex.harness.user_home import UserHome, read_user_home
from codex_adapter.agents.codex.settings import check_settings
from codex_adapter.harness import HarnessTurn
from codex_adapter.harness.agent_harness import AgentHarness
from codex_adapter.harness.attachments import link_images, sort_attachments
from codex_adapter.harness.installation import Installed
from codex_adapter.spaces import Environment, Reach
from codex_adapter.turn_errors import TurnError

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


class CodexHarness(AgentHarness[CodexHome, UserHome]):
    """The Codex CLI as a harness. It runs any number of turns concurrently, but only one for each conversation.

    `config` configures the CLI. The login and the models are those of its `codex_home`, by default of the
    CODEX_HOME of this process.
    """

    def __init__(self, config: CodexConfig | None = None) -> None:
        self._config = CodexConfig() if config is None else config
        super().__init__(AGENT, self._config, CodexInstallation(self._config), CodexHome)

    @override
    def read_user(self) -> UserHome:
        """Implement `AgentHarness.read_user`."""
        return read_user_home(self._environ())

    @override
    def rank(self, listed: Sequence[str], user: UserHome) -> Iterable[str]:
        """Implement `AgentHarness.rank` (U16)."""
        preferred = self._config.model or user.model
        names = listed if preferred is None else (preferred, *listed)
        return [f"{user.provider_name}/{name}" for name in names]

    @override
    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the directories that the sandbox of `workspace-write` leaves writable (U10)."""
        if _SANDBOXES[environment.permissions] != "workspace-write":
            return ()
        user = self.read_user()
        roots = (cwd, *user.writable({**self._environ(), **environment.env, **env}))
        user.refuse_within(Reach.into(roots))
        return roots

    def _environ(self) -> dict[str, str]:
        """Return the environment of a run that sets no variables. Its CODEX_HOME is the user's."""
        home = {} if self._config.codex_home is None else {"CODEX_HOME": self._config.codex_home}
        return {**os.environ, **home, **self._config.env}

    @override
    def prepare(self, turn: HarnessTurn, env: Mapping[str, str], home: CodexHome, installed: Installed) -> RunRequest:
        """Implement `AgentHarness.prepare` (U9, U10)."""
        environment = turn.environment
        home.check_path()
        check_settings("config.settings", self._config.settings, "turn")
        attachments = sort_attachments(turn.attachments)
        check_release(installed, turn, attachments)
        home.check_session(turn.session)
        if turn.session is not None:
            _check_instructions(environment, home, installed)
        user = self.read_user()
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


def _check_instructions(environment: Environment, home: CodexHome, installed: Installed) -> None:
    """Raise `TurnError` if the release cannot continue a conversation with other instructions (U9)."""
    error = missing(installed, "other_instructions")
    if error is not None and home.start_digest() != instructions_digest(environment):
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
