"""Test the content of the files in a turn's home for various environments."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.harness.home_files import foreign_skills, home_files, instructions_digest
from codex_adapter.agents.codex.harness.user_home import UserHome
from codex_adapter.spaces import Environment, Server

from ....harness.environments import EMPTY, a_hook, a_server, a_skill, environment

pytestmark = pytest.mark.rule("U9")

NONE = UserHome(None, None, None, {})
texts = st.text(st.characters(exclude_categories=["Cs"]))
names = st.from_regex(r"[a-z][a-z0-9_]{0,31}", fullmatch=True)
servers = st.lists(
    st.builds(
        Server,
        name=names,
        command=texts,
        args=st.lists(texts).map(tuple),
        env=st.dictionaries(texts, texts),
        cwd=st.none() | texts,
        url=st.none(),
        space=st.just("one"),
    ),
    unique_by=lambda server: server.name,
)


def settings(asked: Environment, own: UserHome = NONE, *, home: str = "/codex", **fields: Any) -> dict[str, Any]:
    """The settings that an environment comes to."""
    files = home_files(asked, own, "openai", home=Path(home), **{"hidden": (), **fields})
    return tomllib.loads(files["config.toml"].decode())


@given(servers)
def test_each_server_is_there_as_it_was_given(asked: list[Server]) -> None:
    found = settings(environment(servers=tuple(asked))).get("mcp_servers", {})
    assert list(found) == [server.name for server in asked]
    for server in asked:
        table = found[server.name]
        assert (table["command"], table["args"]) == (server.command, list(server.args))
        assert (table["env"], table.get("cwd")) == (server.env, server.cwd)
        assert (table["required"], table["default_tools_approval_mode"]) == (True, "approve")


@given(texts.filter(lambda text: "\0" not in text))
def test_trust_is_given_for_a_file_of_any_path(name: str) -> None:
    path = Path("/home", name.replace("/", "_"))
    table = settings(environment(hooks=(a_hook(),)), home=str(path))
    assert list(table["hooks"]["state"]) == [f"{path}/hooks.json:pre_tool_use:0:0"]


def test_an_empty_environment_has_settings_alone() -> None:
    files = home_files(EMPTY, NONE, "openai", home=Path("/codex"), hidden=())
    assert list(files) == ["config.toml"]
    assert settings(EMPTY) == {
        "model_provider": "openai",
        "cli_auth_credentials_store": "file",
        "skills": {"bundled": {"enabled": False}},
    }


def test_the_users_settings_hold_and_the_turns_own_win() -> None:
    own = UserHome(None, None, "other", {"model_verbosity": "low", "skills": {}})
    assert settings(EMPTY, own)["model_verbosity"] == "low"
    assert settings(EMPTY, own)["model_provider"] == "openai"
    hidden = (Path("/a/SKILL.md"),)
    assert settings(EMPTY, own, hidden=hidden)["skills"] == {
        "bundled": {"enabled": False},
        "config": [{"path": "/a/SKILL.md", "enabled": False}],
    }


def test_a_server_by_its_address_has_no_command() -> None:
    table = settings(environment(servers=(a_server(command=None, url="http://localhost/mcp"),)))["mcp_servers"]["one"]
    assert table["url"] == "http://localhost/mcp"
    assert not {"command", "args", "env"} & table.keys()


def test_the_agent_is_told_of_instructions_and_servers() -> None:
    asked = environment(instructions="Be brief.\n", servers=(a_server(), a_server(name="two")), hooks=(a_hook(),))
    files = home_files(asked, NONE, "openai", home=Path("/codex"), hidden=())
    text = files["AGENTS.md"].decode()
    assert text.startswith("Be brief.\n\n# MCP servers\n")
    assert "`one`, `two`" in text
    assert json.loads(files["hooks.json"])["hooks"].keys() == {"PreToolUse"}


def test_variables_of_the_environment_are_not_for_servers() -> None:
    files = home_files(
        environment(env={"KEY": "secret"}, servers=(a_server(),)),
        NONE,
        "openai",
        home=Path("/c"),
        hidden=(),
    )
    assert b"secret" not in b"".join(files.values())


def test_what_is_told_at_the_beginning_is_known_by_its_digest() -> None:
    one, other = environment(instructions="a"), environment(instructions="b")
    assert instructions_digest(one) == instructions_digest(environment(instructions="a", hooks=(a_hook(),)))
    assert (
        len(
            {
                instructions_digest(one),
                instructions_digest(other),
                instructions_digest(environment(skills=(a_skill("/x"),))),
            }
        )
        == 3
    )


def test_skills_of_the_home_directory_are_found_behind_links_and_in_circles(tmp_path: Path) -> None:
    skills, elsewhere = tmp_path / ".agents" / "skills", tmp_path / "elsewhere"
    for directory in (skills / "one" / "deep", elsewhere):
        directory.mkdir(parents=True)
        (directory / "SKILL.md").touch()
    (skills / "linked").symlink_to(elsewhere)
    (skills / "round").symlink_to(skills)
    found = foreign_skills({"HOME": str(tmp_path)})
    assert sorted(found) == [skills / "linked" / "SKILL.md", skills / "one" / "deep" / "SKILL.md"]
    assert foreign_skills({"HOME": str(elsewhere)}) == ()
    assert foreign_skills({}) == ()
