"""Test `-c KEY=VALUE`, a setting of the CLI for a run, a daemon's runs, a turn, or an answering agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.agents.codex.options import read_settings
from codex_adapter.testing import PrintJson, ReadPrompt, WriteFacts, read_facts
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started
from tests.widths import thinned

from ..rows import rows
from ..spaces.spaces_stage import make_space
from .command import Cli, write_confinement

pytestmark = pytest.mark.rule("Q7", "C6")

SECRET = "hunter2-hunter2"


@pytest.fixture
def agent(cli: Cli, tmp_path: Path) -> str:
    """A scripted agent that writes down its arguments, and repeats a secret."""
    lines = (thread_started(), turn_started(), agent_message("item_0", f"It is {SECRET}."), turn_completed())
    return cli.agent(ReadPrompt(), WriteFacts(str(tmp_path / "facts")), *map(PrintJson, lines))


def passed(tmp_path: Path) -> list[str]:
    """The settings that the agent was passed, but for the adapter's own."""
    argv = read_facts(tmp_path / "facts").argv
    values = [argv[place + 1] for place, word in enumerate(argv) if word == "--config"]
    own = ("projects=", "shell_environment_policy.exclude=", "features.shell_snapshot=")
    return [value for value in values if not value.startswith(own)]


@rows(
    ("entry", "settings"),
    [
        ("a=high", {"a": "high"}),
        ('a="high"', {"a": "high"}),
        ("a='high'", {"a": "high"}),
        ("a.b=7", {"a.b": 7}),
        (" a = true ", {"a": True}),
        ("a=1.5 # as TOML", {"a": 1.5}),
        ('a={b="c",d.e=[1]}', {"a": {"b": "c", "d": {"e": [1]}}}),
        ("a=", {"a": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("a=two words", {"a": "two words"}),
    ],
)
def test_a_value_is_toml_or_a_plain_text(entry: str, settings: dict[str, Any]) -> None:
    assert read_settings([entry]) == settings


@rows(
    ("entries", "complaint"),
    [
        ([SECRET], "--config: number 1 must have the form KEY=VALUE"),
        (["a=1", f"={SECRET}"], "--config: number 2 must have the form KEY=VALUE"),
        (["a=1", f"a={SECRET}"], "--config: number 2 repeats a key; pass each key once"),
        (
            [f"a={{b='{SECRET}'"],
            "--config: the value of number 1 is not TOML; check its quotes and brackets",
        ),
        ([f"a='{SECRET}"], "--config: the value of number 1 is not TOML; check its quotes and brackets"),
        (["a=1\nb=2"], "--config: the value of number 1 is not TOML; check its quotes and brackets"),
        (["a={b=1,}"], "--config: the value of number 1 is not TOML; check its quotes and brackets"),
        (["a=" + "[" * 9999], "--config: the value of number 1 is not TOML; check its quotes and brackets"),
    ],
)
@pytest.mark.rule("E5")
def test_an_entry_that_is_none_is_refused_without_a_word_of_it(entries: list[str], complaint: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        read_settings(entries)
    assert f"--config: {caught.value}" == complaint


def test_settings_of_a_run_are_passed_in_their_order(cli: Cli, agent: str, tmp_path: Path) -> None:
    words = ("-c", "model_reasoning_effort=high", "--config", "sandbox_workspace_write={network_access=true}")
    assert cli.run("run", "--codex", agent, *words, "Hi.").status == 0
    assert passed(tmp_path) == ['model_reasoning_effort="high"', 'sandbox_workspace_write={"network_access"=true}']


def test_an_option_wins_over_the_request_file(cli: Cli, agent: str, tmp_path: Path) -> None:
    settings = {"model_verbosity": "low", "personality": "none"}
    request = {"prompt": "Hi.", "extensions": {"backend.codex.settings": settings}}
    (tmp_path / "request.json").write_text(json.dumps(request))
    words = ("--request", "request.json", "-c", "model_verbosity=high")
    assert cli.run("run", "--codex", agent, *words).status == 0
    assert passed(tmp_path) == ['personality="none"', 'model_verbosity="high"']


@pytest.mark.rule("X5")
@pytest.mark.parametrize(
    "setting",
    thinned(
        [
            f"model_providers.p.experimental_bearer_token={SECRET}",
            f'model_providers={{p={{http_headers={{Authorization="Bearer {SECRET}"}}}}}}',
            f'mcp_servers.s.env={{S_API_KEY="{SECRET}"}}',
            f"openai_base_url=https://user:{SECRET}@example.org/v1",
        ],
        2,
    ),
)
def test_a_credential_among_the_settings_is_masked(cli: Cli, agent: str, setting: str) -> None:
    done = cli.run("run", "--codex", agent, "-c", setting, "Hi.")
    assert done.completion["final_text"] == "It is ***."
    assert SECRET not in done.stdout.decode() + done.stderr


REFUSED = (
    *("sandbox_mode=danger-full-access", "approval_policy=on-request", 'projects={"/"={trust_level="trusted"}}'),
    *("projects./.trust_level=trusted", "profile=x", "profiles.x.sandbox_mode=danger-full-access", "model=x"),
    *('"sandbox_mode"=danger-full-access', "'sandbox_mode'=danger-full-access", "sandbox_mode .x=1", "notify=['x']"),
    *("hooks.Stop=[]", "history.persistence=none", "log_dir=/tmp", "permissions.x.network.enabled=true"),
    *("default_permissions=:danger", "sandbox_workspace_write.writable_roots=['/']", "approvals_reviewer=auto_review"),
    *('sandbox_workspace_write={network_access=true,writable_roots=["/"]}', "shell_environment_policy.set.A=b"),
    *("sqlite_home=/tmp", "features.hooks=true", "features={shell_tool=true,network_proxy=true}", "zsh_path=/x"),
)


@pytest.mark.rule("E5")
@pytest.mark.parametrize("setting", REFUSED)
def test_no_command_passes_what_the_adapter_decides(
    cli: Cli,
    agent: str,
    tmp_path: Path,
    setting: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    from codex_adapter.cli import main

    for name, value in {**cli.env, "CODEX_BINARY": agent}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    make_space(tmp_path / "house", "house")
    (tmp_path / "w").mkdir()
    for words in (
        ("run",),
        ("serve",),
        ("turn", "--space", "space:path:house"),
        ("operations", "--workspace", "w", "--agent", "codex", "--task"),
        ("mailbox", "start", "--workspace", "w", "--mailbox", "m", "--answer", "codex"),
    ):
        last = () if words == ("serve",) else ("Hi.",)
        assert main([*words[:1], *words[1:], *last, "-c", setting]) == 2
        stdout, stderr = capfd.readouterr()
        assert stderr.startswith("codex-adapter: --config: ")
        value = setting.partition("=")[2]
        assert len(value) < 3 or value not in stdout + stderr
        assert "danger" not in stdout + stderr
        assert not (tmp_path / "facts").exists()


def test_a_daemon_passes_its_settings_to_every_run_and_a_request_wins(cli: Cli, agent: str, tmp_path: Path) -> None:
    request = {"prompt": "Hi.", "extensions": {"backend.codex.settings": {"model_verbosity": "high"}}}
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "1.0"}},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "run/start",
            "params": {"runId": "a", "agentKind": "codex", "request": request},
        },
    ]
    stdin = b"".join(json.dumps(call).encode() + b"\n" for call in calls)
    words = ("--codex", agent, "--on-eof", "drain", "-c", "model_verbosity=low", "-c", "personality=none")
    assert cli.run("serve", *words, stdin=stdin).status == 0
    assert passed(tmp_path) == ['model_verbosity="low"', 'personality="none"', 'model_verbosity="high"']


@pytest.mark.rule("C13", "U9")
def test_a_turn_passes_how_its_model_answers(cli: Cli, agent: str, tmp_path: Path) -> None:
    make_space(tmp_path / "house", "house")
    (tmp_path / "w").mkdir()
    write_confinement(tmp_path / ".codex")
    words = ("--space", "space:path:house", "--asp-home", "asp", "--cwd", "w", "-c", "model_reasoning_effort=low")
    cli.run("turn", "--codex", agent, *words, "Hi.")
    assert passed(tmp_path) == ['model_reasoning_effort="low"']


@pytest.mark.rule("C13", "U9", "J1")
def test_a_turn_of_a_daemon_takes_no_settings_that_are_for_runs_alone(cli: Cli, agent: str, tmp_path: Path) -> None:
    make_space(tmp_path / "house", "house")
    (tmp_path / "w").mkdir()
    write_confinement(tmp_path / ".codex")
    turn = {
        "externalSessionId": "s",
        "externalRunId": "r",
        "aspHome": str(tmp_path / "asp"),
        "spec": {"spaces": [f"space:path:{tmp_path / 'house'}"]},
        "harness": "codex",
        "cwd": str(tmp_path / "w"),
        "prompt": "Hi.",
    }
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "1.0"}},
        {"jsonrpc": "2.0", "id": 2, "method": "turns/run", "params": turn},
    ]
    stdin = b"".join(json.dumps(call).encode() + b"\n" for call in calls)
    done = cli.run("serve", "--codex", agent, "--on-eof", "drain", "-c", f"model_provider={SECRET}", stdin=stdin)
    answers = [record["result"] for record in done.records if record.get("id") == 2]
    assert "config.settings" in answers[0]["result"]["error"]["message"]
    assert SECRET not in done.stdout.decode() + done.stderr
    assert not (tmp_path / "facts").exists()
