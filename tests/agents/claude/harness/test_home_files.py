"""Test how an environment becomes files of a configuration directory of Claude Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.agents.claude.harness.home_files import home_files
from codex_adapter.spaces import Environment
from codex_adapter.turn_errors import TurnError

from ....harness.environments import EMPTY, a_hook, a_server, a_skill, environment
from ....rows import rows

pytestmark = pytest.mark.rule("U14")


def files(given: Environment = EMPTY, **more: Any) -> dict[str, Any]:
    """The files, with JSON decoded."""
    found = home_files(given, **{"settings": {}, "home": Path("/asp/claude"), "key": None, "files": (), **more})
    return {name: json.loads(data) if name.endswith(".json") else data.decode() for name, data in found.items()}


def test_an_empty_environment_has_neither_memory_nor_bundled_skills() -> None:
    found = files()
    assert found == {
        "settings.json": {"permissions": {"allow": []}, "autoMemoryEnabled": False, "disableBundledSkills": True},
        ".claude.json": {"mcpServers": {}},
    }


def test_instructions_are_a_file() -> None:
    assert files(environment(instructions="\nBe brief.\n\n"))["CLAUDE.md"] == "Be brief.\n"


@pytest.mark.rule("U15")
def test_servers_are_started_and_their_tools_allowed() -> None:
    servers = (
        a_server(name="plain"),
        a_server(name="there", cwd="/a b"),
        a_server(name="far", command=None, args=(), env={}, url="https://x/mcp"),
    )
    found = files(environment(servers=servers))
    shell = ["-c", 'cd -- "$0" && exec "$@"', "/a b", "serve", "-x"]
    assert found[".claude.json"]["mcpServers"] == {
        "plain": {"type": "stdio", "command": "serve", "args": ["-x"], "env": {"A": "1"}},
        "there": {"type": "stdio", "command": "/bin/sh", "args": shell, "env": {"A": "1"}},
        "far": {"type": "http", "url": "https://x/mcp"},
    }
    assert found["settings.json"]["permissions"]["allow"] == ["mcp__plain", "mcp__there", "mcp__far"]


@pytest.mark.rule("U15")
def test_files_of_skills_and_attachments_may_be_read() -> None:
    given = environment(skills=(a_skill("/store"),))
    allowed = files(given, files=("/notes.txt", "/a (b).txt"))["settings.json"]["permissions"]["allow"]
    assert allowed == ["Read(//asp/claude/skills/**)", "Read(//notes.txt)"]


def test_the_users_limits_and_login_are_kept() -> None:
    found = files(settings={"permissions": {"deny": ["Bash"]}, "effortLevel": "low"}, key="sk-ant-x")
    assert found["settings.json"]["permissions"] == {"allow": [], "deny": ["Bash"]}
    assert found["settings.json"]["effortLevel"] == "low"
    assert found[".claude.json"]["primaryApiKey"] == "sk-ant-x"


@pytest.mark.rule("U15")
def test_hooks_are_settings() -> None:
    hooks = (a_hook("session_start"), a_hook("before_tool", "check", "Bash|Edit", 5))
    assert files(environment(hooks=hooks))["settings.json"]["hooks"] == {
        "SessionStart": [{"hooks": [{"type": "command", "command": "true", "timeout": 60}]}],
        "PreToolUse": [{"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "check", "timeout": 5}]}],
    }


@pytest.mark.rule("U15")
@rows("matcher", ["(?i)bash", "(?P<x>a)", "(?#note)a", "a*+", r"Bash\Z", r"\ABash", "(?>a)", "("])
def test_a_matcher_that_the_cli_does_not_support_is_refused(matcher: str) -> None:
    with pytest.raises(TurnError, match="The matcher of hook note "):
        files(environment(hooks=(a_hook(matcher=matcher),)))


@pytest.mark.rule("U15")
@rows("matcher", ["Bash", "Edit|Write", "mcp__scripted__.*", r"a\\Z", "(?:a)|b", "(?=a)", "[*+]+"])
def test_any_other_matcher_is_passed_on(matcher: str) -> None:
    assert files(environment(hooks=(a_hook(matcher=matcher),)))["settings.json"]["hooks"]["PreToolUse"]
