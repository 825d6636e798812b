"""Test `doctor --probe`: the verdict on each promise of a binary, and the exit status."""

from __future__ import annotations

import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.testing import Exit, Hang, PrintJson, PrintText, Step
from tests.probes.scripted_agents import SCRIPTED, ScriptedAgent, each_scripted

from .command import Cli, Done, until_listening

pytestmark = pytest.mark.rule("C8")

PROGRAM = Path(__file__).with_name("small_cli.py")
SECRET = "a secret"
SESSION = "a run reports the id of its session"
FORKED = "a session is forked, and the fork has a new id"
COMPLETED = "a completed turn ends with status 0 and a final text"
KNOWN = "every line is of a known kind"
READ = "every line can be read"
LONG = 600.0
"""Seconds within which all probes must end, also on a machine with much else to do."""
CODEX = SCRIPTED["codex"]


@pytest.fixture
def empty(cli: Cli) -> Path:
    """Where the probes have their temporary files; empty in the end."""
    path = cli.directory / "tmp"
    path.mkdir()
    cli.env["TMPDIR"] = str(path)
    return path


def small_cli(cli: Cli, fault: str = "none") -> str:
    """The path of the small CLI that does one thing wrong."""
    path = cli.directory / "codex"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {PROGRAM} "{fault}" "$@"\n')
    path.chmod(0o755)
    return str(path)


def probe(cli: Cli, binary: str, *words: str, agent: ScriptedAgent = CODEX) -> Done:
    """A whole command that probes a program."""
    with cli.start("doctor", "--probe", "--agent", agent.kind, agent.option, binary, *words) as process:
        stdout, stderr = process.communicate(timeout=LONG)
    return Done(process.returncode, stdout, stderr.decode())


def probed(cli: Cli, binary: str, status: int, agent: ScriptedAgent = CODEX) -> dict[str, dict[str, Any]]:
    """The verdicts by their promise, after the checks that any report must pass."""
    done = probe(cli, binary, agent=agent)
    assert (done.status, done.stderr) == (status, "")
    assert SECRET.encode() not in done.stdout
    assert str(cli.directory / "tmp").encode() not in done.stdout
    return verdicts(done, agent)


def verdicts(done: Done, agent: ScriptedAgent) -> dict[str, dict[str, Any]]:
    """The verdicts by their promise; the summary must count them."""
    *records, summary = done.records
    found = [record for record in records if record["type"] == "promise"]
    assert [record["type"] for record in records[: -len(found)]] == ["finding"] * 2
    states = [record["state"] for record in found]
    assert summary.pop("type") == "summary"
    assert summary.pop("seconds") > 0
    counts = {state: states.count(state) for state in ("holds", "broken", "not_probed")}
    assert summary == {"ok": "broken" not in states, "release": summary["release"], **counts}
    assert [record["promise"] for record in found] == [*(one.text for one in agent.promises), KNOWN, READ]
    assert [bool(record.get("detail")) for record in found] == [state != "holds" for state in states]
    return {record["promise"]: record for record in found}


def broken(found: dict[str, dict[str, Any]]) -> set[str]:
    """The promises that do not hold."""
    assert "not_probed" not in {record["state"] for record in found.values()}
    return {promise for promise, record in found.items() if record["state"] == "broken"}


def test_a_cli_that_does_everything_right_keeps_all_promises(cli: Cli, empty: Path) -> None:
    assert broken(probed(cli, small_cli(cli), status=0)) == set()
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    ("fault", "promises"),
    [
        pytest.param("unknown line", {KNOWN}, marks=pytest.mark.nightly),
        ("no line", {READ}),
        pytest.param("no sandbox", {"the agent cannot write in the mode read-only"}, marks=pytest.mark.nightly),
        pytest.param(
            "forgets",
            {
                "a session is resumed by its id, and keeps this id",
                "the last session is resumed",
                "the session of a cancelled run is resumed",
            },
            marks=pytest.mark.nightly,
        ),
    ],
)
@pytest.mark.fault(
    "environment",
    "A newer CLI behaves differently",
    "`doctor --probe` names the broken promises and exits with status 1",
)
def test_the_promise_that_is_broken_is_the_one_named(cli: Cli, empty: Path, fault: str, promises: set[str]) -> None:
    assert broken(probed(cli, small_cli(cli, fault), status=1)) == promises


@pytest.mark.rule("T4")
@each_scripted
def test_unknown_kinds_are_named(cli: Cli, empty: Path, agent: ScriptedAgent) -> None:
    steps = agent.speaking(PrintJson({"type": "weather.changed"}))
    found = probed(cli, agent.write(cli.directory / "bin", *steps), 1, agent)
    assert found[KNOWN]["detail"] == "unknown kinds: weather.changed"
    assert found[SESSION]["state"] == "holds"


@pytest.mark.rule("M5", "F3")
@pytest.mark.parametrize(
    ("steps", "promise", "detail"),
    [
        (CODEX.speaking(named=False), SESSION, "no id; exit status: 0, turn completed; reported: agent_message, usage"),
        pytest.param(
            *(
                (*CODEX.speaking(), Exit(7)),
                COMPLETED,
                "exit status: 7, turn completed; reported: session, agent_message, usage",
            ),
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            *((PrintText(SECRET), Exit(101)), COMPLETED, "exit status: 101, turn not begun; reported: nothing"),
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["no session", "another status", "a crash"],
)
def test_what_was_there_instead_is_told_in_words_of_ours(
    cli: Cli, empty: Path, steps: tuple[Step, ...], promise: str, detail: str
) -> None:
    found = probed(cli, cli.agent(*steps), status=1)
    assert (found[promise]["state"], found[promise]["detail"]) == ("broken", detail)


@pytest.mark.rule("S8")
def test_what_a_release_is_known_not_to_do_is_not_probed(cli: Cli, empty: Path) -> None:
    found = probed(cli, cli.agent(*CODEX.speaking(), version="0.47.0"), status=1)
    reasons = {promise: record["detail"] for promise, record in found.items() if record["state"] == "not_probed"}
    assert reasons.keys() == {
        "a plan is reported, and reported again when it changes",
        "the model receives an image",
        "an additional directory is accepted",
        "the last session is resumed",
        FORKED,
    }
    assert reasons[FORKED] == "forking a session: release 0.155.0 or newer is required, but 0.47.0 is installed."


@pytest.mark.nightly
@pytest.mark.rule("K1")
@pytest.mark.fault(
    "timing",
    "A newer CLI hangs in every probe",
    "`doctor --probe` gives up after four runs of one minute and exits with status 1",
)
@each_scripted
def test_a_cli_that_hangs_is_given_up_in_time(cli: Cli, empty: Path, agent: ScriptedAgent) -> None:
    done = probe(cli, agent.write(cli.directory / "bin", Hang()), agent=agent)
    found = verdicts(done, agent)
    assert (done.status, done.stderr) == (1, "")
    assert found[SESSION]["detail"].startswith("did not end in time")
    assert list(empty.iterdir()) == []


@pytest.mark.rule("E4", "K4")
@pytest.mark.fault(
    "signals", "`doctor --probe` receives a signal", "It ends the active runs and exits with the signal's status"
)
@each_scripted
def test_a_signal_ends_the_probes(cli: Cli, empty: Path, agent: ScriptedAgent) -> None:
    program = agent.write(cli.directory / "bin", Hang())
    with cli.start("doctor", "--probe", "--agent", agent.kind, agent.option, program) as process:
        until_listening(process)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["subject"] == agent.option.strip("-")
        process.send_signal(signal.SIGTERM)
        done = cli.finish(process)
    assert (done.status, done.stderr) == (143, "")
    assert list(empty.iterdir()) == []


@pytest.mark.rule("S6", "S8")
@pytest.mark.parametrize("too_old", [False, True], ids=["none", "too old"])
@each_scripted
def test_without_a_cli_that_could_run_nothing_is_probed(
    cli: Cli, empty: Path, agent: ScriptedAgent, too_old: bool
) -> None:
    version = agent.too_old if too_old else None
    binary = "/nowhere/cli" if version is None else agent.write(cli.directory / "bin", release=version)
    done = probe(cli, binary, agent=agent)
    *findings, summary = done.records
    assert (done.status, done.stderr) == (1, "")
    assert [record["state"] for record in findings][-1] == "failed"
    assert findings[-1]["advice"]
    assert summary == {
        **{"type": "summary", "ok": False, "release": version},
        **{"holds": 0, "broken": 0, "not_probed": 0, "seconds": 0.0},
    }


@pytest.mark.rule("C7")
def test_the_text_says_the_same(cli: Cli, empty: Path) -> None:
    done = probe(cli, small_cli(cli, "unknown line"), "--format", "pretty")
    text = done.stdout.decode()
    assert done.status == 1
    assert f"\nok   M5 {SESSION}\n" in text
    assert f"\nFAIL T4 {KNOWN}\n     unknown kinds: weather.changed\n" in text
    end = r"\n37 hold, 1 broken, 0 not probed \(\d+\.\d s\)\.\nThis agent CLI breaks promises\.\n\Z"
    assert re.search(end, text)
    done = cli.run("doctor", "--probe", "--format", "pretty", "--codex", "/nowhere/codex")
    assert done.stdout.endswith(b"\nNothing was probed.\n")


@pytest.mark.rule("E5")
@pytest.mark.parametrize(
    "words",
    [
        *[("--format", "jsonl"), ("--probe", "--json"), ("--probe", "--orphans"), ("--probe", "--codex-home", "x")],
        ("--probe", "--agent", "claude_code", "--claude-config-dir", "x"),
        ("--probe", "--agent", "pi", "--pi-agent-dir", "x"),
    ],
)
def test_options_that_do_not_go_together_are_refused(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli.run("doctor", *words)
    assert (done.status, done.stdout) == (2, b"")
    assert "--probe" in done.complaint
