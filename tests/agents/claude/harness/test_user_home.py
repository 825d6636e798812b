"""Test which parts of the user's configuration a turn of Claude Code uses, and which places it protects."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.agents.claude.harness.user_home import read_user_home, writable_directories
from codex_adapter.spaces import Reach
from codex_adapter.turn_errors import TurnError

pytestmark = pytest.mark.rule("U14")

LOGIN = {"claudeAiOauth": {"accessToken": "sk-ant-oat01-secret"}}


class Home:
    """A user's configuration directory."""

    def __init__(self, root: Path) -> None:
        self.path = root / "own"
        self.path.mkdir()
        self.env = {"CLAUDE_CONFIG_DIR": str(self.path)}

    def write(self, name: str, content: Any) -> None:
        (self.path / name).write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_only_some_settings_are_used(home: Home) -> None:
    wanted = {
        "apiKeyHelper": "get-key",
        "effortLevel": "high",
        "permissions": {"deny": ["Read(./secret)"]},
        "sandbox": {"network": {"allowedDomains": ["example.com"]}},
    }
    own = {
        "model": "claude-own",
        "hooks": {"Stop": []},
        "env": {"A": "1", "TMPDIR": "/x", "N": 7},
        "permissions": {"deny": ["Read(./secret)"], "allow": ["Bash"], "additionalDirectories": ["/etc"]},
        "sandbox": {"network": {"allowedDomains": ["example.com"]}, "filesystem": {"allowWrite": ["/etc"]}},
    }
    home.write("settings.json", {**wanted, **own})
    user = read_user_home(home.env)
    assert (user.model, user.settings, user.variables) == ("claude-own", wanted, {"A": "1"})
    assert user.settings_for("api") == {**wanted, "env": {"A": "1"}}
    assert "apiKeyHelper" not in user.settings_for("claude")


@pytest.mark.rule("U5")
@pytest.mark.parametrize(
    ("files", "env", "providers"),
    [
        ({}, {}, ("api",)),
        ({}, {"ANTHROPIC_API_KEY": "k"}, ("api",)),
        ({".credentials.json": LOGIN}, {}, ("claude", "api")),
        ({".credentials.json": LOGIN}, {"ANTHROPIC_API_KEY": "k"}, ("api", "claude")),
        ({".credentials.json": LOGIN, "settings.json": {"apiKeyHelper": "x"}}, {}, ("api", "claude")),
        ({".credentials.json": {}}, {}, ("api",)),
        ({}, {"CLAUDE_CODE_OAUTH_TOKEN": "t"}, ("claude", "api")),
        ({"settings.json": {"env": {"CLAUDE_CODE_USE_BEDROCK": "1"}}}, {}, ("api",)),
    ],
)
def test_the_providers_are_the_logins_that_exist(
    home: Home, files: dict[str, Any], env: dict[str, str], providers: tuple[str, ...]
) -> None:
    for name, content in files.items():
        home.write(name, content)
    assert read_user_home(home.env).providers(env) == providers


def test_the_login_of_one_provider_is_used_in_its_own_place(home: Home, tmp_path: Path) -> None:
    home.write(".credentials.json", LOGIN)
    home.write(".claude.json", {"primaryApiKey": "sk-ant-api03-stored"})
    home.write("settings.json", {"env": {"ANTHROPIC_API_KEY": "k", "A": "1"}})
    user = read_user_home(home.env)
    place = "CLAUDE_SECURESTORAGE_CONFIG_DIR"
    subscription = user.login_env("claude", tmp_path)
    assert subscription[place] == str(home.path)
    assert subscription["ANTHROPIC_API_KEY"] == subscription["ANTHROPIC_AUTH_TOKEN"] == ""
    assert user.settings_for("claude") == {"env": {"A": "1"}}
    assert user.login_env("api", tmp_path) == {place: str(tmp_path), "CLAUDE_CODE_OAUTH_TOKEN": ""}
    assert user.key == "sk-ant-api03-stored"


def test_a_login_in_another_place_is_found_there(home: Home, tmp_path: Path) -> None:
    logins = tmp_path / "logins"
    logins.mkdir()
    (logins / ".credentials.json").write_text(json.dumps(LOGIN))
    user = read_user_home({**home.env, "CLAUDE_SECURESTORAGE_CONFIG_DIR": str(logins)})
    assert (user.logins, user.subscribed) == (logins, True)


@pytest.mark.fault(
    "turns", "The user's `settings.json` is invalid", "The turn is refused and the error quotes no content of the file"
)
@pytest.mark.parametrize("name", ["settings.json", ".claude.json", ".credentials.json"])
def test_a_broken_configuration_is_refused(home: Home, name: str) -> None:
    home.write(name, "{hunter2")
    with pytest.raises(TurnError, match=name) as refused:
        read_user_home(home.env)
    assert "hunter2" not in str(refused.value)


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(TurnError, match="CLAUDE_CONFIG_DIR"):
        read_user_home({"CLAUDE_CONFIG_DIR": str(tmp_path / "missing")})
    user = read_user_home({"HOME": str(tmp_path)})
    assert (user.directory, user.logins, user.settings) == (None, None, {})


@pytest.mark.rule("U15")
def test_the_sandbox_leaves_few_directories_writable() -> None:
    own = f"/t/claude-{os.geteuid()}"
    found = writable_directories("/work", {"HOME": "/home/me", "TMPDIR": "/t"})
    assert found == ("/work", own, "/tmp/claude", "/home/me/.npm/_logs", "/home/me/.claude/debug")
    assert own in writable_directories("/work", {"CLAUDE_CODE_TMPDIR": "/t", "TMPDIR": "/other"})


@pytest.mark.rule("U13")
@pytest.mark.parametrize("name", ["settings.json", ".credentials.json"])
def test_settings_that_the_agent_could_change_are_refused(home: Home, tmp_path: Path, name: str) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    home.write(name, {})
    user = read_user_home(home.env)
    (home.path / "debug").mkdir()
    user.refuse_within(Reach.into([workspace, home.path / "debug"]))
    with pytest.raises(TurnError, match="The agent may write to"):
        user.refuse_within(Reach.into([home.path]))
    os.link(home.path / name, workspace / "other")
    with pytest.raises(TurnError, match=f"{name} of CLAUDE_CONFIG_DIR has a hard link"):
        user.refuse_within(Reach.into([workspace]))
    (workspace / "other").unlink()
    (home.path / name).unlink()
    (home.path / name).symlink_to(workspace / "mine")
    with pytest.raises(TurnError, match="The agent may write to"):
        user.refuse_within(Reach.into([workspace]))
