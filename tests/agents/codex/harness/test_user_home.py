"""Test which settings a turn takes from the user's own home of the CLI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codex_adapter.agents.codex.harness.user_home import read_user_home
from codex_adapter.spaces.reach import Reach
from codex_adapter.turn_errors import TurnError

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
    own = read_user_home(write(tmp_path))
    assert (own.model, own.provider_name, own.directory) == ("chosen", "local", tmp_path)
    assert own.settings.keys() == {"model_reasoning_effort", "model_providers", "shell_environment_policy"}


def test_the_home_is_where_the_cli_looks_for_it(tmp_path: Path) -> None:
    write(tmp_path / ".codex", 'model = "found"')
    assert read_user_home({"HOME": str(tmp_path)}).model == "found"
    assert read_user_home({"HOME": str(tmp_path), "CODEX_HOME": ""}).model == "found"
    for nowhere in ({}, {"HOME": str(tmp_path / ".codex")}):
        own = read_user_home(nowhere)
        assert (own.directory, own.model, own.provider_name, own.settings) == (None, None, "openai", {})


@pytest.mark.parametrize("name", ["none", "file"])
def test_a_home_that_is_named_and_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TurnError, match="is not a directory"):
        read_user_home({"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / name)})


@pytest.mark.rule("U13", "Z11")
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("", ("/tmp", "/scratch")),
        ("sandbox_workspace_write = 1", ("/tmp", "/scratch")),
        ("sandbox_workspace_write.exclude_slash_tmp = true", ("/scratch",)),
        ("sandbox_workspace_write.exclude_tmpdir_env_var = true", ("/tmp",)),
        (
            'sandbox_workspace_write = { exclude_slash_tmp = true, writable_roots = ["/a", "/b"] }',
            ("/scratch", "/a", "/b"),
        ),
    ],
)
def test_the_directories_that_the_sandbox_leaves_open_are_known(
    tmp_path: Path, config: str, expected: tuple[str, ...]
) -> None:
    assert read_user_home(write(tmp_path, config)).writable({"TMPDIR": "/scratch"}) == expected


@pytest.mark.rule("U13", "Z11")
@pytest.mark.parametrize("root", ['"relative"', '""', "1"])
def test_a_directory_that_counts_from_elsewhere_in_each_conversation_is_refused(tmp_path: Path, root: str) -> None:
    own = read_user_home(write(tmp_path, f"sandbox_workspace_write.writable_roots = [{root}]"))
    with pytest.raises(TurnError, match=r"sandbox_workspace_write\.writable_roots .* Make it absolute"):
        own.writable({})


@pytest.mark.rule("U13", "Z11")
@pytest.mark.parametrize("line", ["TMPDIR=/x", "export TMPDIR = '/x'", "A=1\n\tTMPDIR=x"])
@pytest.mark.fault(
    "turns", "The `.env` file in CODEX_HOME sets TMPDIR", "A turn that may write to that directory is refused"
)
def test_a_temporary_directory_that_only_the_cli_would_know_is_refused(tmp_path: Path, line: str) -> None:
    env = write(tmp_path, "")
    (tmp_path / ".env").write_text(f"{line}\n")
    with pytest.raises(TurnError, match=r"^The \.env of the Codex CLI, in CODEX_HOME, sets TMPDIR\. "):
        read_user_home(env).writable({})
    write(tmp_path, "sandbox_workspace_write.exclude_tmpdir_env_var = true")
    assert read_user_home(env).writable({}) == ("/tmp",)
    write(tmp_path, "")
    (tmp_path / ".env").write_text("MY_TMPDIR=x\n")
    assert read_user_home(env).writable({}) == ("/tmp",)
    (tmp_path / ".env").unlink()
    (tmp_path / ".env").mkdir()
    with pytest.raises(TurnError, match=r"^The \.env .* cannot be read\. Correct it"):
        read_user_home(env).writable({})


@pytest.mark.rule("U13", "Z11")
@pytest.mark.parametrize("name", ["config.toml", ".env", "auth.json"])
@pytest.mark.fault(
    "turns",
    "A file of CODEX_HOME is a link to a place where the agent may write",
    "The turn is refused before it starts",
)
def test_a_file_that_the_agent_could_change_by_another_name_is_refused(tmp_path: Path, name: str) -> None:
    home, work, aside = tmp_path / "home", tmp_path / "work", tmp_path / "aside"
    for directory in (home, work, aside):
        directory.mkdir()
    (work / name).touch()
    reach = Reach.into([work])
    own = read_user_home({"CODEX_HOME": str(home)})
    own.refuse_within(reach)
    (aside / name).symlink_to(work / name)
    (home / name).symlink_to(aside / name)
    with pytest.raises(TurnError, match=f"^The agent may write to {name} of CODEX_HOME, "):
        own.refuse_within(reach)
    (home / name).unlink()
    (home / name).hardlink_to(work / name)
    with pytest.raises(TurnError, match=f"^{name} of CODEX_HOME has a hard link, .* Replace it with a copy"):
        own.refuse_within(reach)
    (work / name).unlink()
    own.refuse_within(reach)


def test_a_home_without_configuration_still_has_a_login(tmp_path: Path) -> None:
    (tmp_path / "auth.json").touch()
    own = read_user_home({"CODEX_HOME": str(tmp_path)})
    assert own.logins("openai", {}) == (tmp_path / "auth.json",)


@pytest.mark.parametrize("config", ["model = ", "a = 1\na = 2", "\udcff", "a = " + "[" * 100_000])
@pytest.mark.fault(
    "turns", "The user's `config.toml` is invalid", "The turn is refused and the error quotes no content of the file"
)
def test_a_broken_configuration_is_refused(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.toml").write_bytes(config.encode(errors="surrogateescape"))
    with pytest.raises(TurnError, match="Correct it"):
        read_user_home({"CODEX_HOME": str(tmp_path)})


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
    own = read_user_home(write(tmp_path))
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
    with pytest.raises(TurnError, match="Correct it"):
        read_user_home({"CODEX_HOME": str(tmp_path)})
