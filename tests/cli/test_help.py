"""Test the help of each command with its examples, and the version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codex_adapter.agents import kinds
from codex_adapter.cli import main
from codex_adapter.errors import DEFAULT_AGENT

from .command import ADAPTER, Cli


@pytest.mark.rule("C1", "C16")
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--help"], "commands:"),
        (["-h"], "examples:"),
        (["run", "--help"], "--idle-timeout SECONDS"),
        (["run", "Hi.", "-h"], "examples:\n  codex-adapter run"),
        (["replay", "--help"], "examples:\n  codex-adapter replay"),
        (["replay", "--help"], "codex exec --json 'Say hello' | codex-adapter replay -"),
        (["mailbox", "--help"], "examples:\n  codex-adapter mailbox"),
        (["mailbox", "start", "--help"], "examples:\n  codex-adapter mailbox"),
        (["turn", "--help"], "examples:\n  codex-adapter turn"),
        (["space", "--help"], "examples:\n  codex-adapter space"),
        (["demo", "--help"], "examples:\n  codex-adapter demo"),
        (["doctor", "--help"], "examples:\n  codex-adapter doctor"),
        (["schema", "--help"], "examples:\n  codex-adapter schema"),
        (["login", "--help"], "examples:\n  codex-adapter login"),
        (["help"], "commands:"),
        (["help", "run"], "examples:\n  codex-adapter run"),
        (["help", "login"], "examples:\n  codex-adapter login"),
        (["--version"], "codex-adapter 0."),
        (["-V"], "codex-adapter 0."),
    ],
)
def test_help_and_version_are_shown_and_nothing_else_is_done(
    capfd: pytest.CaptureFixture[str], words: list[str], shown: str
) -> None:
    assert main(words) == 0
    stdout, stderr = capfd.readouterr()
    assert stderr == ""
    assert shown in stdout


@pytest.mark.rule("C23")
@pytest.mark.parametrize("command", ["run", "replay", "demo", "doctor", "login"])
@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind != DEFAULT_AGENT])
def test_the_examples_of_an_agent_select_it(capfd: pytest.CaptureFixture[str], command: str, kind: str) -> None:
    assert main([command, "--agent", kind, "--help"]) == 0
    help_text, _, examples = capfd.readouterr().out.partition("examples:\n")
    own = re.findall("codex-adapter [^|\n]*", examples)
    assert own
    assert [example for example in own if not example.startswith(f"codex-adapter {command} --agent {kind}")] == []
    assert "codex" not in re.sub("codex-adapter|default: codex", "", (help_text + examples).lower())


@pytest.mark.rule("C1")
def test_help_that_nobody_reads_is_no_failure_and_a_full_disk_is_one(cli: Cli) -> None:
    done = cli.run("-c", '"$@" --help | true', "sh", *ADAPTER, program=("/bin/sh",))
    assert done.stderr == ""
    with Path("/dev/full").open("wb") as full:
        done = cli.finish(cli.start("--help", stdout=full))
    assert done.status == 125
    assert "No space left on device" in done.complaint
