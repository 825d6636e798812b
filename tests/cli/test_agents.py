"""Test `--agent KIND`: options, help and schema belong to the selected agents."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from codex_adapter.agents import agent_of
from codex_adapter.cli import main
from codex_adapter.cli.agent_options import find_agents
from codex_adapter.cli.option_names import OptionNames

from ..runtime.agents import WHOLE_TURN
from ..waiting import SOON
from .command import Cli

pytestmark = pytest.mark.rule("C23")

COMMANDS_WITH_AGENTS = ("run", "serve", "replay", "doctor", "login", "demo")
TOY = str(Path(__file__).parents[1] / "toy")


@pytest.fixture(autouse=True)
def two_agents(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """Install a second agent."""
    monkeypatch.syspath_prepend(TOY)
    cli.env["PYTHONPATH"] = TOY


def shown(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command line writes to standard output."""
    assert main(words) == 0
    return capfd.readouterr().out


def test_the_default_agent_is_codex(capfd: pytest.CaptureFixture[str]) -> None:
    text = shown(capfd, "run", "--help")
    assert "--sandbox MODE" in text
    assert "--allow" not in text


def test_help_has_the_options_of_the_agent_that_is_chosen(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["run", "--agent", "toy", "--help"], ["run", "--agent=toy", "--help"]):
        text = shown(capfd, *words)
        assert "--allow" in text
        assert "--toy BINARY" in text
        assert "--timeout SECONDS" in text
        assert "--sandbox MODE" not in text


@pytest.mark.parametrize(
    "words",
    [
        *([command, "--agent", "toy"] for command in ("run", "login", "demo", "doctor")),
        ["turn", "--harness", "toy"],
        ["replay", "--agent", "toy"],
        ["serve", "--agent", "toy"],
    ],
)
def test_help_names_the_agent_that_is_selected(capfd: pytest.CaptureFixture[str], words: list[str]) -> None:
    text = shown(capfd, *words, "--help")
    assert "the Codex CLI" not in text
    assert "--sandbox" not in text
    assert "--codex" not in text
    if words[0] not in ("replay", "serve"):
        assert "the toy" in text


def test_a_daemon_takes_the_options_of_all_its_agents_each_once(capfd: pytest.CaptureFixture[str]) -> None:
    text = shown(capfd, "serve", "--agent", "codex", "--agent", "toy", "--help")
    assert "--codex BINARY" in text
    assert "--toy BINARY" in text
    assert text.count("--model ID") == 1


@pytest.mark.rule("E5")
@pytest.mark.parametrize("command", COMMANDS_WITH_AGENTS)
def test_a_kind_that_is_not_installed_is_refused(capfd: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "--agent", "hunter2"]) == 2
    stderr = capfd.readouterr().err
    assert "--agent must be claude_code, codex, pi or toy. See `codex-adapter" in stderr
    assert "hunter2" not in stderr


@pytest.mark.rule("E5")
def test_an_option_of_another_agent_is_unknown(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--agent", "toy", "--sandbox", "read-only", "Hi."]) == 2
    assert "The option --sandbox is unknown" in capfd.readouterr().err


@pytest.mark.rule("C5")
def test_the_schema_has_the_keys_of_all_agents(capfd: pytest.CaptureFixture[str]) -> None:
    keys = json.loads(shown(capfd, "schema"))["$defs"]["RunRequest"]["properties"]["extensions"]["properties"]
    assert keys["backend.toy.allow"] == {"type": "boolean"}
    assert keys["backend.codex.exec.sandbox_mode"]["default"] == "workspace-write"


def test_the_words_after_a_double_dash_choose_no_agent() -> None:
    assert [agent.kind for agent in find_agents(["--agent", "toy"])] == ["toy"]
    assert [agent.kind for agent in find_agents(["--", "--agent", "toy"])] == ["codex"]
    assert [agent.kind for agent in find_agents(["--agent"])] == ["codex"]


@pytest.mark.rule("E5")
def test_names_of_options_are_those_of_the_agent() -> None:
    names = OptionNames(agent_of("toy").options)
    assert names("config.binary is wrong") == "--toy is wrong"
    assert names("config.idle_timeout is wrong") == "--idle-timeout is wrong"


@pytest.mark.rule("C6", "AG1")
def test_a_run_of_another_agent_takes_its_options(cli: Cli) -> None:
    done = cli.run("run", "--agent", "toy", "--format", "jsonl", "ask", "--allow")
    assert done.status == 0
    assert {record.get("agent_kind", "toy") for record in done.records} == {"toy"}
    assert done.completion["ok"] is True
    refused = cli.run("run", "--agent", "toy", "--format", "text", "--toy", "/nowhere", "Hi.")
    assert refused.status == 127


@pytest.mark.rule("C4", "C8")
def test_doctor_reports_on_an_agent_that_reports_nothing_of_itself(cli: Cli) -> None:
    report = json.loads(cli.run("doctor", "--agent", "toy", "--json", "--toy", "/bin/sh").stdout)
    assert (report["agent"], report["ok"], report["binary"]["path"]) == ("toy", True, "/bin/sh")
    assert report["findings"][0]["subject"] == "toy"
    missing = cli.run("doctor", "--agent", "toy", "--toy", "/nowhere")
    assert missing.status == 1
    assert b"FAIL toy: not found\n" in missing.stdout
    probed = cli.run("doctor", "--agent", "toy", "--probe", "--toy", "/bin/sh", "--format", "pretty")
    assert (probed.status, probed.stdout) == (2, b"")
    assert probed.complaint.startswith("the toy does not support `doctor --probe`. Use `doctor` without --probe. ")


@pytest.mark.rule("C3", "C16")
@pytest.mark.parametrize(("command", "step"), [("login", "Log in with its own program"), ("demo", "Use another agent")])
def test_an_agent_without_a_login_or_a_demo_says_so(cli: Cli, command: str, step: str) -> None:
    done = cli.run(command, "--agent", "toy")
    assert done.status == 2
    complaint = f"the toy does not support `{command}`. {step}. See `codex-adapter {command} --help`."
    assert done.complaint == complaint


@pytest.mark.rule("C4")
def test_doctor_finds_the_program_that_the_agent_names(cli: Cli) -> None:
    report = json.loads(cli.run("doctor", "--agent", "toy", "--json").stdout)
    assert (report["ok"], report["binary"]["path"]) == (True, f"{TOY}/toy")


@pytest.mark.rule("C2", "C10")
def test_a_recording_of_another_agent_is_replayed_and_viewed(cli: Cli) -> None:
    recording = cli.directory / "recorded.jsonl"
    recording.write_text('{"session":"s"}\n{"begin":1}\n{"say":"Hi there."}\n{"end":"good"}\n')
    done = cli.run("replay", "--agent", "toy", "--format", "jsonl", str(recording))
    assert (done.status, done.completion["ok"], done.completion["session_id"]) == (0, True, "s")
    (cli.directory / "saved.jsonl").write_bytes(done.stdout)
    assert b"Hi there." in cli.run("view", str(cli.directory / "saved.jsonl")).stdout


@pytest.mark.rule("C13")
def test_a_turn_of_another_agent_is_a_turn_like_any_other(cli: Cli) -> None:
    space = cli.directory / "space"
    space.mkdir()
    (space / "space.toml").write_text('schema = 1\nid = "toys"\n')
    words = (
        "--harness",
        "toy",
        "--space",
        "space:path:.",
        "--asp-home",
        str(cli.directory / "asp"),
        "--format",
        "jsonl",
    )
    done = cli.run("turn", *words, "ask", cwd=space)
    assert done.status == 0, done.complaint
    assert done.records[-1]["result"] == {"success": True, "finalOutput": "It is made."}


@pytest.mark.rule("C9", "J3")
def test_a_daemon_runs_agents_of_both_kinds(cli: Cli) -> None:
    calls = [
        ("initialize", {"protocolVersion": "1.0"}),
        ("run/start", {"runId": "a", "agentKind": "toy", "request": {"prompt": "hello"}}),
    ]
    lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": m, "params": p}) for n, (m, p) in enumerate(calls)]
    done = cli.run(
        "serve", "--agent", "codex", "--agent", "toy", "--on-eof", "drain", stdin="\n".join(lines).encode() + b"\n"
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert messages[0]["result"]["capabilities"].keys() == {"codex", "toy"}
    [completed] = [message["params"] for message in messages if message.get("method") == "run/completed"]
    assert completed["runId"] == "a"
    assert b"You said: hello" in done.stdout


@pytest.mark.rule("K4", "E4")
def test_a_signal_ends_a_run_of_another_agent_by_its_own_signal(cli: Cli) -> None:
    started = cli.start("run", "--agent", "toy", "--format", "jsonl", "hang")
    assert started.stdout is not None
    while b"tool_call" not in started.stdout.readline():
        assert started.poll() is None
    started.send_signal(signal.SIGTERM)
    output, _ = started.communicate(timeout=SOON)
    assert json.loads(output.splitlines()[-1])["error"]["message"] == "cancelled"
    assert started.returncode == 128 + signal.SIGTERM


BARE = """
from __future__ import annotations

from pathlib import Path

from toy_agent import ToyAgent


class BareAgent(ToyAgent):
    kind = "bare"
    options = ()


BareAgent.find_program = BareAgent.__mro__[2].find_program
AGENT = BareAgent()
NOTHING = None
"""
"""An agent with nothing of its own on the command line."""


def bring(cli: Cli, kind: str, target: str) -> None:
    """Have another distribution bring an agent."""
    place = cli.directory / "site"
    info = place / f"{kind.lower()}_dist-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {kind.lower()}-dist\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[codex_adapter.agents]\n{kind} = {target}\n")
    (place / "bare_agent.py").write_text(BARE)
    cli.env["PYTHONPATH"] = f"{TOY}:{place}"


@pytest.mark.rule("C23", "E5")
def test_an_agent_without_options_fails_as_any_other(cli: Cli) -> None:
    bring(cli, "bare", "bare_agent:AGENT")
    done = cli.run("run", "--agent", "bare", "--timeout", "1", "hang")
    assert (done.status, done.records[-1]["error"]["failure"]) == (124, "timeout")
    assert "Internal error" not in done.stderr
    for words in (("--timeout", "-1", "x"), ("--extension", "a.b=1", "x"), ("--working-dir", "/none", "x"), (" ",)):
        refused = cli.run("run", "--agent", "bare", "--format", "text", *words)
        assert (refused.status, "Internal error" in refused.stderr) == (2, False)
    assert "--harness must be" in cli.run("turn", "--harness", "bare", "--space", "x", "Hi.").complaint


@pytest.mark.rule("AG7", "O17")
def test_an_agent_that_cannot_be_restricted_does_no_operations(cli: Cli) -> None:
    done = cli.run("operations", "--workspace", ".", "--agent", "toy", "--task", "hi")
    assert (done.status, "Internal error" in done.stderr) == (2, False)
    assert "does not support" in done.complaint


@pytest.mark.rule("AG5")
@pytest.mark.parametrize(
    ("kind", "target"),
    [("gone", "no_such_module:AGENT"), ("gone", "bare_agent:NOTHING"), ("gone", "bare_agent:AGENT")],
)
def test_an_agent_that_cannot_be_loaded_is_named_with_its_distribution(cli: Cli, kind: str, target: str) -> None:
    bring(cli, kind, target)
    for words in (("run", "--agent", kind, "x"), ("schema",), ("operations", "--workspace", ".")):
        done = cli.run(*words)
        assert done.status == 2, words
        assert f"The agent '{kind}'" in done.complaint
        assert f"Repair or uninstall {kind}-dist" in done.complaint
    assert cli.run("run", "--codex", cli.agent(*WHOLE_TURN), "--format", "jsonl", "x").status == 0


@pytest.mark.rule("C4")
def test_doctor_leaves_open_what_an_agent_alone_can_find(cli: Cli) -> None:
    bring(cli, "bare", "bare_agent:AGENT")
    report = json.loads(cli.run("doctor", "--agent", "bare", "--json").stdout)
    assert (report["findings"][0]["state"], report["ok"]) == ("warning", True)
