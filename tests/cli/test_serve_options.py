"""Test wrong options of `serve`, without a daemon."""

from __future__ import annotations

import pytest

from tests.widths import thinned

from .command import Cli

pytestmark = pytest.mark.rule("C9", "E5")


@pytest.mark.rule("J19", "J20")
@pytest.mark.parametrize("option", [["--journal-prompts"], ["--keep-days", "3"]])
def test_prompts_and_days_are_for_a_journal(cli: Cli, option: list[str]) -> None:
    done = cli.run("serve", *option)
    assert (done.status, done.stdout) == (2, b"")
    assert "--journal DIR" in done.stderr


@pytest.mark.rule("J20")
@pytest.mark.parametrize("days", thinned(["0", "-1", "1.5", "many"], 2))
def test_days_are_a_whole_number(cli: Cli, days: str) -> None:
    done = cli.run("serve", "--journal", "journal", f"--keep-days={days}")
    assert (done.status, done.stdout) == (2, b"")
    assert "--keep-days must be a whole number, 1 or more" in done.stderr


def test_tool_payloads_are_two_words(cli: Cli) -> None:
    done = cli.run("serve", "--tool-payloads", "everything")
    assert (done.status, done.stdout) == (2, b"")
    assert "--tool-payloads must be one of 'metadata', 'full'" in done.stderr
    assert "everything" not in done.stderr


def test_a_missing_program_is_reported_once_at_the_start(cli: Cli) -> None:
    done = cli.run("serve", "--codex", "/nowhere/codex", stdin=b"")
    assert (done.status, done.stdout) == (0, b"")
    assert done.stderr.count("\n") == 1
    assert "runs of the Codex CLI cannot start. The path in --codex does not exist." in done.stderr
    assert cli.run("serve", "--codex", cli.agent(), stdin=b"").stderr == ""


@pytest.mark.rule("C20")
@pytest.mark.parametrize("command", ["serve", "run"])
def test_levels_of_the_log_are_four_words(cli: Cli, command: str) -> None:
    done = cli.run(command, "--log-level", "loud")
    assert (done.status, done.stdout) == (2, b"")
    assert "--log-level must be debug, info, warning or error" in done.stderr
