"""What a turn takes over from the home of whoever runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codex_adapter.protocols.turns.harness import TurnError
from codex_adapter.protocols.turns.harnesses.codex.own_home import read_own_home

pytestmark = pytest.mark.rule("U9")

CONFIG = """
model = "chosen"
model_provider = "local"
model_reasoning_effort = "high"
notify = ["touch", "x"]
profile = "x"
sqlite_home = "/x"
cli_auth_credentials_store = "keyring"
developer_instructions = "x"
sandbox_mode = "danger-full-access"
approval_policy = "on-request"
[model_providers.local]
base_url = "http://localhost/v1"
[model_providers.company]
requires_openai_auth = true
[mcp_servers.own]
command = "x"
[hooks.state.x]
trusted_hash = "x"
[projects."/x"]
trust_level = "trusted"
[skills.bundled]
enabled = true
[features]
hooks = false
[shell_environment_policy]
exclude = ["SECRET_*"]
"""


def write(home: Path, config: str = CONFIG) -> dict[str, str]:
    """A home with this configuration, by its variable."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(config)
    return {"CODEX_HOME": str(home)}


def test_the_way_to_a_model_and_what_is_kept_from_the_agent_are_taken(tmp_path: Path) -> None:
    own = read_own_home(write(tmp_path))
    assert (own.model, own.provider_name, own.directory) == ("chosen", "local", tmp_path)
    assert own.settings.keys() == {"model_reasoning_effort", "model_providers", "shell_environment_policy"}


def test_the_home_is_where_the_cli_looks_for_it(tmp_path: Path) -> None:
    write(tmp_path / ".codex", 'model = "found"')
    assert read_own_home({"HOME": str(tmp_path)}).model == "found"
    assert read_own_home({"HOME": str(tmp_path), "CODEX_HOME": ""}).model == "found"
    for nowhere in ({}, {"HOME": str(tmp_path / ".codex")}):
        own = read_own_home(nowhere)
        assert (own.directory, own.model, own.provider_name, own.settings) == (None, None, "openai", {})


@pytest.mark.parametrize("name", ["none", "file"])
def test_a_home_that_is_named_and_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TurnError, match="is no directory"):
        read_own_home({"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / name)})


def test_a_home_without_configuration_still_has_a_login(tmp_path: Path) -> None:
    (tmp_path / "auth.json").touch()
    own = read_own_home({"CODEX_HOME": str(tmp_path)})
    assert own.logins("openai", {}) == (tmp_path / "auth.json",)


@pytest.mark.parametrize("config", ["model = ", "a = 1\na = 2", "\udcff", "a = " + "[" * 100_000])
@pytest.mark.fault("turns", "the user's config.toml is broken", "the turn is refused, and nothing of it is quoted")
def test_a_broken_configuration_is_refused(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.toml").write_bytes(config.encode(errors="surrogateescape"))
    with pytest.raises(TurnError, match="mend it"):
        read_own_home({"CODEX_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("provider", "env", "files"),
    [
        ("openai", {}, ["auth.json", ".env"]),
        ("company", {}, ["auth.json", ".env"]),
        ("company", {"OPENAI_API_KEY": "x", "CODEX_API_KEY": ""}, ["auth.json", ".env"]),
        ("company", {"CODEX_API_KEY": "x"}, [".env"]),
        ("local", {}, [".env"]),
        ("unknown", {}, [".env"]),
    ],
)
def test_a_login_is_for_whoever_asks_for_it(
    tmp_path: Path, provider: str, env: dict[str, str], files: list[str]
) -> None:
    own = read_own_home(write(tmp_path))
    assert own.logins(provider, env) == ()
    for name in ("auth.json", ".env"):
        (tmp_path / name).touch()
    assert {path.name for path in own.logins(provider, env)} == set(files)


@pytest.mark.parametrize("kind", ["fifo", "device", "directory", "huge", "not UTF-8"])
def test_what_is_no_file_that_could_be_settings_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config.toml"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "directory":
            path.mkdir()
        case "huge":
            path.write_bytes(b"#" * (4 * 1024 * 1024 + 1))
        case "not UTF-8":
            path.write_bytes(b"# \xff")
    with pytest.raises(TurnError, match="mend it"):
        read_own_home({"CODEX_HOME": str(tmp_path)})
