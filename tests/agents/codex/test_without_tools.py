"""The settings with which a run has no tools."""

from __future__ import annotations

import tomllib

import pytest

from codex_adapter.agents.codex.without_tools import settings_without_tools

pytestmark = pytest.mark.rule("Q3")


@pytest.mark.parametrize("names", [(), ("mine",), ("a b", 'quo"te', "ü")])
def test_each_configured_server_is_switched_off_by_its_name(names: tuple[str, ...]) -> None:
    settings = tomllib.loads("\n".join(settings_without_tools(names)))
    assert settings.get("mcp_servers", {}) == {name: {"enabled": False} for name in names}
