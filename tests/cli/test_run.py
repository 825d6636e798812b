"""Test `run`: the source of the prompt, the effect of each option, and the records."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.testing import Exit, Facts, PrintFile, PrintJson, ReadPrompt, Step, WriteFacts, read_facts
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    thread_started,
    turn_completed,
    turn_started,
)
from tests.widths import thinned

from ..needs import missing
from .command import ADAPTER, Cli, Done

TURN = tuple(
    PrintJson(line) for line in (thread_started(), turn_started(), agent_message("item_0", "Hello."), turn_completed())
)
FIXTURES = Path(__file__).parents[2] / "fixtures" / "codex"


def run(cli: Cli, *words: str, steps: tuple[Step, ...] = TURN, stdin: bytes = b"", **options: Any) -> Done:
    """A run of an agent that tells what it was given."""
    binary = cli.agent(ReadPrompt(), WriteFacts(f"{cli.directory}/facts"), *steps)
    return cli.run("run", "--codex", binary, *words, stdin=stdin, **options)


def told(cli: Cli) -> Facts:
    """What the agent was given."""
    return read_facts(cli.directory / "facts")


def flags(cli: Cli) -> list[str]:
    """The agent's arguments after those that every run has."""
    argv = told(cli).argv[1:]
    for setting in ("projects=", "shell_environment_policy.exclude=", "features.shell_snapshot="):
        place = next(number for number, word in enumerate(argv) if word.startswith(setting))
        del argv[place - 1 : place + 1]
    always = ["--ask-for-approval", "never", "exec", "--color", "never", "--json", "--skip-git-repo-check"]
    return argv[len(always) :] if argv[: len(always)] == always else argv


@pytest.mark.rule("C1", "W1", "W2", "W3")
def test_a_run_gives_its_events_and_then_its_completion(cli: Cli) -> None:
    done = run(cli, "Say hello.")
    assert done.status == 0
    assert done.stderr == ""
    session = "0199a213-81c0-7800-8aa1-bbab2a035a53"
    assert done.completion == {
        "outcome": "completed",
        "ok": True,
        "status": {"code": 0, "signal": None},
        "final_text": "Hello.",
        "session_id": session,
        "turn": "completed",
        "usage": turn_completed()["usage"],
    }
    assert [record.get("kind") for record in done.records[:-1]] == ["status", "status", "text_output", "status"]
    assert list(done.records[2]) == ["type", "seq", "agent_kind", "kind", "channel", "text", "data"]
    assert done.stdout.startswith(b'{"type":"event","seq":0,"agent_kind":"codex","kind":"status",')


@pytest.mark.rule("C1", "S3")
@pytest.mark.parametrize("words", [("-",), ()])
def test_the_prompt_is_standard_input_to_its_end_and_to_the_byte(cli: Cli, words: tuple[str, ...]) -> None:
    prompt = "  über\u2028\r\n\n" + "x" * 200_000 + "\n\n"
    assert run(cli, *words, stdin=prompt.encode()).status == 0
    assert told(cli).prompt == prompt


@pytest.mark.rule("C1")
@pytest.mark.parametrize("prompt", thinned([" spaces and\nlines ", "-v", "--help", "--"], 2))
def test_the_prompt_is_the_argument_even_if_it_looks_like_an_option(cli: Cli, prompt: str) -> None:
    assert run(cli, "--", prompt, stdin=b"\n").status == 0
    assert told(cli).prompt == prompt


@pytest.mark.rule("C6")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ["--sandbox", "workspace-write", "-"]),
        (("--sandbox", "read-only"), ["--sandbox", "read-only", "-"]),
        (("--model", "some-model"), ["--sandbox", "workspace-write", "--model", "some-model", "-"]),
        (("--resume", "last"), ["--sandbox", "workspace-write", "resume", "--last", "-"]),
        (("--resume", "0199"), ["--sandbox", "workspace-write", "resume", "0199", "-"]),
        (("--fork", "0199"), ["--sandbox", "workspace-write", "fork", "0199", "-"]),
        (
            ("--interactive", "--ask-for-approval", "on-request"),
            [
                *("--ask-for-approval", "on-request", "exec", "--color", "never", "--json", "--skip-git-repo-check"),
                *("--sandbox", "workspace-write", "-"),
            ],
        ),
        (("--ask-for-approval", "never"), ["--sandbox", "workspace-write", "-"]),
        (
            ("--extension", 'agent_api.config.model.v1="m"', "--extension", "agent_api.exec.non_interactive=true"),
            ["--sandbox", "workspace-write", "--model", "m", "-"],
        ),
    ],
)
def test_options_become_the_agents_arguments(cli: Cli, words: tuple[str, ...], expected: list[str]) -> None:
    run(cli, *words, "Hi.")
    assert flags(cli) == expected


@pytest.mark.rule("C6")
def test_directories_and_images_count_from_the_working_directory(cli: Cli) -> None:
    work = cli.directory / "work"
    for name in ("a", "b"):
        (work / name).mkdir(parents=True)
    (work / "pixel.png").touch()
    words = ("--working-dir", "work", "--add-dir", "a", "--add-dir", str(work / "b"), "--image", "pixel.png")
    assert run(cli, *words, "Hi.").status == 0
    assert told(cli).cwd == str(work)
    assert told(cli).argv.count("--add-dir") == 2
    assert {str(work / "a"), str(work / "b"), str(work / "pixel.png")} <= set(told(cli).argv)


@pytest.mark.rule("C6")
def test_variables_are_set_and_copied_and_named_homes_reach_the_agent(cli: Cli) -> None:
    cli.env["COPIED"] = "from outside"
    (cli.directory / "home").mkdir()
    words = ("--env", "COPIED", "--env", "SET=a=b", "--env", "EMPTY=", "--codex-home", "home")
    assert run(cli, *words, "Hi.").status == 0
    env = told(cli).env
    assert (env["COPIED"], env["SET"], env["EMPTY"]) == ("from outside", "a=b", "")
    assert env["CODEX_HOME"] == str(cli.directory / "home")


@pytest.mark.rule("C6", "N3")
def test_a_level_of_containment_can_be_demanded(cli: Cli) -> None:
    unshare = ("unshare", "-Urm", "sh", "-c")
    if cli.finish(cli.start("true", program=unshare)).status != 0:
        missing("namespaces")
    poorer = 'mount -t tmpfs none /sys/fs/cgroup && echo 0 >/proc/sys/user/max_pid_namespaces && exec "$@"'
    program = (*unshare, poorer, "sh", *ADAPTER)
    assert run(cli, "--containment", "guard", "Hi.", program=program).status == 0
    done = run(cli, "--containment", "pid_namespace", "Hi.", program=program)
    assert done.status == 126
    assert "`codex-adapter doctor`" in done.complaint


@pytest.mark.rule("C6", "X5")
def test_the_values_of_masked_variables_never_appear(cli: Cli) -> None:
    steps = (PrintJson(thread_started()), PrintJson(agent_message("item_0", "It is hunter2hunter2.")))
    words = ("--env", "INNOCENT=hunter2hunter2", "--mask", "INNOCENT", "--mask", "OTHER")
    done = run(cli, *words, "Hi.", steps=steps)
    assert done.completion["final_text"] == "It is ***."
    assert b"hunter2" not in done.stdout


@pytest.mark.rule("C6", "S11")
@pytest.mark.parametrize(("words", "level"), [((), "untrusted"), (("--trust-project",), "trusted")])
def test_the_project_is_trusted_when_asked_for(cli: Cli, words: tuple[str, ...], level: str) -> None:
    assert run(cli, *words, "Hi.").status == 0
    argv = told(cli).argv
    trust = tomllib.loads(argv[argv.index("--config") + 1])["projects"]
    assert trust[os.path.realpath(cli.directory)] == {"trust_level": level}


@pytest.mark.rule("C6")
def test_an_output_schema_is_read_from_its_file(cli: Cli) -> None:
    (cli.directory / "schema.json").write_text('{"type": "object"}')
    steps = (*TURN[:2], PrintJson(agent_message("item_0", "{}")), *TURN[3:])
    assert run(cli, "--output-schema", "schema.json", "Hi.", steps=steps).status == 0
    assert "--output-schema" in told(cli).argv


@pytest.mark.rule("C6", "M7")
@pytest.mark.parametrize(("words", "shown"), [(("--tool-payloads", "full"), True), ((), False)])
def test_tool_payloads_are_shown_when_asked_for(cli: Cli, words: tuple[str, ...], shown: bool) -> None:
    lines = (thread_started(), command_started("item_0", "ls"), command_completed("item_0", "ls", "found it\n"))
    done = run(cli, *words, "Hi.", steps=tuple(map(PrintJson, lines)))
    assert (b"found it" in done.stdout) is shown


@pytest.mark.rule("C6")
def test_a_request_can_come_whole_from_a_file(cli: Cli) -> None:
    request = {
        "prompt": "From the file.",
        "working_dir": str(cli.directory),
        "timeout": 20,
        "env": {"A": "1"},
        "extensions": {"backend.codex.exec.sandbox_mode": "read-only"},
    }
    (cli.directory / "request.json").write_text(json.dumps(request))
    assert run(cli, "--request", "request.json").status == 0
    assert told(cli).prompt == "From the file."
    assert told(cli).env["A"] == "1"
    assert flags(cli) == ["--sandbox", "read-only", "-"]


@pytest.mark.rule("C6")
def test_a_request_can_come_from_standard_input(cli: Cli) -> None:
    assert run(cli, "--request", "-", stdin=b'{"prompt":"Piped."}').status == 0
    assert told(cli).prompt == "Piped."


@pytest.mark.rule("C6")
def test_options_win_over_the_request_and_lists_add_to_it(cli: Cli) -> None:
    for name in ("a", "b", "work"):
        (cli.directory / name).mkdir()
    request = {
        "working_dir": "/nowhere",
        "env": {"KEPT": "request", "CHANGED": "request"},
        "extensions": {
            "agent_api.config.model.v1": "of-the-request",
            "backend.codex.exec.sandbox_mode": "read-only",
            "agent_api.exec.add_dirs.v1": {"dirs": ["../a"]},
        },
    }
    (cli.directory / "request.json").write_text(json.dumps(request))
    words = ("--request", "request.json", "--working-dir", "work", "--env", "CHANGED=option", "--add-dir", "../b")
    assert run(cli, *words, "--model", "of-the-option", "The prompt.").status == 0
    facts = told(cli)
    assert (facts.prompt, facts.cwd) == ("The prompt.", str(cli.directory / "work"))
    assert (facts.env["KEPT"], facts.env["CHANGED"]) == ("request", "option")
    assert flags(cli)[:6] == ["--sandbox", "read-only", "--model", "of-the-option", "--add-dir", f"{cli.directory}/a"]
    assert flags(cli)[6:] == ["--add-dir", f"{cli.directory}/b", "-"]


@pytest.mark.rule("Y1", "C2", "W1")
@pytest.mark.parametrize("scenario", ["shell_three", "mcp", "web_search", "http_500_once", "plan", "sig_term_cmd"])
def test_a_live_run_and_a_replay_of_what_it_printed_give_the_same_bytes(cli: Cli, scenario: str) -> None:
    recording = FIXTURES / "0.169.0" / f"{scenario}.jsonl"
    live = run(cli, "Hi.", steps=(PrintFile(str(recording), piece=13), Exit(3)))
    replayed = cli.run("replay", "--exit-status", "3", str(recording))
    assert live.stdout == replayed.stdout != b""
    assert live.status == replayed.status == 3


@pytest.mark.rule("S11")
def test_a_file_of_instructions_that_is_not_read_is_noted(cli: Cli) -> None:
    project = cli.directory / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("Be kind.")
    words = ("--working-dir", str(project), "x")
    assert run(cli, *words).complaint.startswith("Codex 0.155 and newer do not read AGENTS.md")
    assert run(cli, "--quiet", *words).stderr == ""
    assert run(cli, "--trust-project", *words).stderr == ""
