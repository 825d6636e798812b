"""Test the argv and the environment of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from codex_adapter.agents.claude.command import build_argv, config_directory, merge_environment
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.core.extension_checks import SessionSelector

from ...rows import rows

ALWAYS = [
    *("/claude", "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    *("--permission-prompt-tool", "stdio", "--disallowedTools=AskUserQuestion,EnterPlanMode,ExitPlanMode"),
]
CONFINED = {
    "enabled": True,
    "failIfUnavailable": True,
    "autoAllowBashIfSandboxed": True,
    "allowUnsandboxedCommands": False,
}


def argv(**options: object) -> list[str]:
    return build_argv("/claude", RunOptions(**options), cwd="/work")  # type: ignore[arg-type]


def settings(words: Sequence[str]) -> object:
    return json.loads(words[words.index("--settings") + 1])["sandbox"]


@pytest.mark.rule("S1", "AG8")
@pytest.mark.parametrize(
    ("options", "mode", "sandbox"),
    [
        ({}, "acceptEdits", CONFINED),
        (
            {"sandbox_mode": "read-only", "add_dirs": ("/more",)},
            "dontAsk",
            {**CONFINED, "filesystem": {"denyWrite": ["/work", "/more"]}},
        ),
        ({"sandbox_mode": "danger-full-access"}, "bypassPermissions", {"enabled": False}),
        ({"sandbox_mode": "read-only", "tools": "none"}, "dontAsk", {"enabled": False}),
    ],
)
def test_a_sandbox_mode_is_a_permission_mode_and_a_sandbox(
    options: dict[str, object], mode: str, sandbox: object
) -> None:
    words = argv(**options)
    assert words[: len(ALWAYS)] == ALWAYS
    assert words[words.index("--permission-mode") + 1] == mode
    assert settings(words) == sandbox
    assert not {"--allowedTools", "--dangerously-skip-permissions"} & set(words)


@pytest.mark.rule("S11")
def test_settings_of_the_project_are_used_only_if_it_is_trusted() -> None:
    assert argv()[argv().index("--setting-sources") + 1] == "user"
    trusted = argv(trust_project=True)
    assert trusted[trusted.index("--setting-sources") + 1] == "user,project,local"


@pytest.mark.rule("S1", "S2")
@rows(
    ("options", "words"),
    [
        ({"partial_messages": True}, ["--include-partial-messages"]),
        ({"model": "m"}, ["--model", "m"]),
        ({"max_turns": 3}, ["--max-turns", "3"]),
        ({"max_budget": 0.00001}, ["--max-budget-usd", "0.000010"]),
        ({"output_schema": {"type": "object"}}, ["--json-schema", '{"type":"object"}']),
        ({"tools": "none"}, ["--tools", "", "--strict-mcp-config"]),
        ({"add_dirs": ("/a", "/b")}, ["--add-dir=/a", "--add-dir=/b"]),
        ({"resume": SessionSelector("id")}, ["--resume", "id"]),
        ({"resume": SessionSelector()}, ["--continue"]),
        ({"fork": SessionSelector("id")}, ["--resume", "id", "--fork-session"]),
        ({"fork": SessionSelector()}, ["--continue", "--fork-session"]),
    ],
)
def test_each_option_has_its_words_at_the_end(options: dict[str, object], words: list[str]) -> None:
    found = argv(**options)
    assert found[-len(words) :] == words
    assert len(found) == len(argv()) + len(words)


@pytest.mark.rule("S5")
def test_later_sources_of_the_environment_win() -> None:
    config = ClaudeConfig(config_dir="/c", env={"A": "config", "B": "config"})
    env = merge_environment({"A": "parent", "C": "parent"}, config, {"A": "request"}, RunOptions())
    assert {name: env[name] for name in ("A", "B", "C", "CLAUDE_CONFIG_DIR")} == {
        "A": "request",
        "B": "config",
        "C": "parent",
        "CLAUDE_CONFIG_DIR": "/c",
    }
    assert env["DISABLE_TELEMETRY"] == env["DISABLE_AUTOUPDATER"] == "1"
    assert merge_environment({"DISABLE_TELEMETRY": "0"}, config, {}, RunOptions())["DISABLE_TELEMETRY"] == "0"


@pytest.mark.rule("S5")
def test_only_a_run_as_root_without_a_sandbox_says_that_it_is_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    free = RunOptions(sandbox_mode="danger-full-access")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert merge_environment({"IS_SANDBOX": "yes"}, ClaudeConfig(), {}, free)["IS_SANDBOX"] == "1"
    assert merge_environment({}, ClaudeConfig(), {"IS_SANDBOX": "0"}, free)["IS_SANDBOX"] == "1"
    assert "IS_SANDBOX" not in merge_environment({}, ClaudeConfig(), {}, RunOptions())
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "IS_SANDBOX" not in merge_environment({}, ClaudeConfig(), {}, free)


@pytest.mark.rule("X5")
def test_the_directory_of_the_cli() -> None:
    assert config_directory({"CLAUDE_CONFIG_DIR": "c", "HOME": "/h"}) == "c"
    assert config_directory({"HOME": "/h"}) == "/h/.claude"
    assert config_directory({}) is None
