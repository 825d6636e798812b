"""Test the argv and the environment of a run."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter.agents.pi.command import agent_directory, build_argv, merge_environment
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.extensions import RunOptions
from codex_adapter.core.extension_checks import SessionSelector

from ...rows import rows

ALWAYS = ["/pi", "-p", "--mode", "json"]
READING = ["--tools", "read,grep,find,ls"]
LITERAL = ["--no-prompt-templates", "--no-themes"]
UNTRUSTED = ["--no-extensions", "--no-skills", "--no-context-files", "--session-dir", "/sessions"]


def argv(*, asks_for_trust: bool = True, fork: str | None = None, **options: Any) -> list[str]:
    return build_argv("/pi", RunOptions(**options), asks_for_trust=asks_for_trust, sessions="/sessions", fork=fork)


@pytest.mark.rule("S1", "AG12")
@pytest.mark.parametrize(
    ("options", "tools"),
    [
        ({}, READING),
        ({"sandbox_mode": "danger-full-access"}, []),
        ({"tools": "none"}, ["--no-tools"]),
        ({"tools": "none", "sandbox_mode": "danger-full-access"}, ["--no-tools"]),
    ],
)
def test_a_sandbox_mode_selects_tools(options: dict[str, Any], tools: list[str]) -> None:
    assert argv(**options) == [*ALWAYS, *tools, *LITERAL, *UNTRUSTED, "--no-approve"]


@pytest.mark.rule("S1", "S11", "AG12")
def test_the_project_is_used_only_if_it_is_trusted() -> None:
    assert argv(trust_project=True) == [*ALWAYS, *READING, *LITERAL, "--approve"]
    assert argv(asks_for_trust=False) == [*ALWAYS, *READING, *LITERAL, *UNTRUSTED]
    assert argv(asks_for_trust=False, trust_project=True) == [*ALWAYS, *READING, *LITERAL]


@pytest.mark.rule("S1", "AG12")
def test_skills_of_a_request_are_used_without_those_of_the_project() -> None:
    assert argv(skills="/skills") == [*ALWAYS, *READING, *LITERAL, *UNTRUSTED, "--skill", "/skills", "--no-approve"]


@pytest.mark.rule("S1", "S2")
@rows(
    ("options", "words"),
    [
        ({"model": "m"}, ["--model", "m"]),
        ({"provider": "p", "model": "m"}, ["--provider", "p", "--model", "m"]),
        ({"thinking": "high"}, ["--thinking", "high"]),
        ({"resume": SessionSelector("id")}, ["--session", "id"]),
        ({"resume": SessionSelector()}, ["--continue"]),
        ({"fork": "id"}, ["--fork", "id"]),
        ({"images": ("/a b", "/c")}, ["@/a b", "@/c"]),
    ],
)
def test_each_option_has_its_words_at_the_end(options: dict[str, Any], words: list[str]) -> None:
    assert argv(**options) == [*argv(), *words]


@pytest.mark.rule("S5")
def test_later_sources_of_the_environment_win() -> None:
    config = PiConfig(agent_dir="/c", env={"A": "config", "B": "config"})
    env = merge_environment({"A": "parent", "C": "parent", "PI_TELEMETRY": "1"}, config, {"A": "request"})
    assert env == {
        **{"A": "request", "B": "config", "C": "parent", "PI_CODING_AGENT_DIR": "/c"},
        **{"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "1"},
    }


@pytest.mark.rule("X5")
@pytest.mark.parametrize(
    ("env", "directory"),
    [
        ({"PI_CODING_AGENT_DIR": "c", "HOME": "/h"}, "c"),
        ({"PI_CODING_AGENT_DIR": "~/c", "HOME": "/h"}, "/h/c"),
        ({"HOME": "/h"}, "/h/.pi/agent"),
        ({}, None),
    ],
)
def test_the_directory_of_the_cli(env: dict[str, str], directory: str | None) -> None:
    assert agent_directory(env) == directory
