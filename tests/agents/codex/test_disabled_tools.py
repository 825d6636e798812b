"""Test the settings of a run without tools, and the MCP servers that they disable by name."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codex_adapter.agents.codex import disabled_tools as module
from codex_adapter.agents.codex.disabled_tools import configured_servers, settings_without_tools
from codex_adapter.errors import BackendError

pytestmark = pytest.mark.rule("Q3")

CONFIG = """\
model = "m"
[mcp_servers.one]
command = "x"
[mcp_servers."two words"]
url = "http://localhost"
[profiles.p.mcp_servers.three]
command = "y"
"""


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration of the whole machine."""
    directory = tmp_path / "etc"
    directory.mkdir()
    monkeypatch.setattr(module, "MACHINE_SETTINGS", str(directory))
    return directory


@pytest.mark.parametrize("named", [True, False])
def test_servers_are_found_in_the_home_and_in_that_of_the_machine(tmp_path: Path, machine: Path, named: bool) -> None:
    home = tmp_path / ".codex"
    home.mkdir()
    (home / "config.toml").write_text(CONFIG)
    (machine / "managed_config.toml").write_text("[mcp_servers.four]\ncommand = 'z'\n")
    env = {"CODEX_HOME": str(home), "HOME": "/none"} if named else {"HOME": str(tmp_path)}
    assert set(configured_servers(env)) == {"one", "two words", "three", "four"}


@pytest.mark.parametrize("text", ["", "mcp_servers = 3", "profiles = [1]\nmcp_servers.x = 1", "[profiles]\np = 1"])
def test_what_is_odd_has_no_servers_and_stops_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    assert configured_servers({"CODEX_HOME": str(tmp_path)}) in ((), ("x",))
    assert configured_servers({}) == ()


def test_a_configuration_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("= broken")
    with pytest.raises(BackendError) as caught:
        configured_servers({"CODEX_HOME": str(tmp_path)})
    assert caught.value.advice == "The config.toml of the Codex CLI cannot be read. Correct it."


@example([])
@example(["a b", 'quo"te', "ü"])
@given(st.lists(st.text(st.characters(codec="utf-8")), unique=True))
def test_each_server_is_switched_off_whatever_its_name(names: list[str]) -> None:
    settings = tomllib.loads("\n".join(settings_without_tools(names)))
    assert settings.get("mcp_servers", {}) == {name: {"enabled": False} for name in names}
    assert settings["features"]["shell_tool"] is False
    assert set(settings["features"].values()) == {False}
