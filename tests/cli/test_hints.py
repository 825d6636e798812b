"""Test the hint of a failed run: a field of the completion record, and a sentence for people."""

from __future__ import annotations

import re
from typing import get_args

import msgspec
import pytest

from codex_adapter.agents import agent_of, kinds
from codex_adapter.agents.codex.advice import ADVICE as OF_CODEX
from codex_adapter.errors import DEFAULT_AGENT
from codex_adapter.hints import ADVICE, Hint
from codex_adapter.testing import Exit, Hang, PrintJson, Step, WriteStderr
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    error,
    thread_started,
    turn_completed,
    turn_failed,
    turn_started,
)

from .command import Cli
from .slow_clock import SLOW_CLOCK, let_time_pass

SANDBOX_FAILED = "codex sandbox cannot start: commands fail"

pytestmark = pytest.mark.rule("F9")

BROKEN = "Error loading config.toml: invalid type: integer `3`, expected a string\nin `sekrit`\n"
SENTENCE = OF_CODEX["configuration_broken"]
WAITING = "Reconnecting... waiting for network (Connection failed: error sending request)"
LIMITED = "exceeded retry limit, last status: 429 Too Many Requests"


@pytest.mark.rule("W2", "X1")
def test_the_record_of_an_agent_that_gives_up_has_the_hint_and_nothing_of_its_stderr(cli: Cli) -> None:
    agent = cli.agent(WriteStderr(BROKEN), Exit(1))
    done = cli.run("run", "--codex", agent, "x")
    assert (done.status, done.complaint) == (1, SENTENCE)
    assert done.completion == {
        "outcome": "completed",
        "ok": False,
        "status": {"code": 1, "signal": None},
        "hint": "configuration_broken",
        "advice": SENTENCE,
    }
    assert b"sekrit" not in done.stdout


@pytest.mark.rule("W2")
def test_the_record_of_a_run_that_stands_still_has_the_hint_and_the_session(cli: Cli) -> None:
    lines = [thread_started("t"), turn_started(), error(WAITING)]
    steps: list[Step] = [*map(PrintJson, lines), Hang()]
    with cli.start("run", "--codex", cli.agent(*steps), "--idle-timeout", "60", "x", program=SLOW_CLOCK) as process:
        assert process.stdout is not None
        events = [process.stdout.readline() for _ in lines]
        let_time_pass(process)
        done = cli.finish(process)
    done = done._replace(stdout=b"".join(events) + done.stdout)
    assert done.status == 124
    body = {"kind": "backend", "message": "codex stream idle timeout: 60s", "failure": "timeout", "hint": "no_network"}
    body["advice"] = ADVICE["no_network"]
    told = {"session_id": "t", "hint": "no_network", "advice": ADVICE["no_network"]}
    assert done.completion == {"outcome": "failed", "ok": False, "error": body, **told}


@pytest.mark.rule("E5")
@pytest.mark.parametrize("form", ["jsonl", "pretty"])
def test_advice_for_a_person_names_the_option_of_a_time_limit(cli: Cli, form: str) -> None:
    agent = cli.agent(*map(PrintJson, [thread_started("t"), turn_started()]), Hang())
    done = cli.run("run", "--codex", agent, "--idle-timeout", "1", "--format", form, "x")
    assert done.status == 124
    advice = ADVICE["idle_limit"]
    assert advice.replace("`idle_timeout`", "`--idle-timeout`") in (
        done.stderr if form == "jsonl" else done.stdout.decode()
    )
    if form == "jsonl":
        assert done.completion["error"]["advice"] == advice


@pytest.mark.rule("C7", "X1")
def test_text_for_people_says_what_to_do(cli: Cli) -> None:
    agent = cli.agent(WriteStderr(BROKEN), Exit(1))
    done = cli.run("run", "--codex", agent, "--format", "pretty", "x")
    assert f"! {SENTENCE}\n" in done.stdout.decode()
    assert b"sekrit" not in done.stdout


@pytest.mark.rule("Y1")
@pytest.mark.parametrize("form", ["jsonl", "pretty"])
def test_a_replay_has_the_hint_that_the_stream_tells(cli: Cli, form: str) -> None:
    lines = [thread_started("t"), turn_started(), error(LIMITED), turn_failed(LIMITED)]
    live = cli.run("run", "--codex", cli.agent(*map(PrintJson, lines), Exit(1)), "--format", form, "x")
    (cli.directory / "recording.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(lines))
    replay = cli.run("replay", "--exit-status", "1", "--format", form, "recording.jsonl")
    told = b'"hint":"rate_limited"' if form == "jsonl" else OF_CODEX["rate_limited"].encode()
    assert told in live.stdout
    assert told in replay.stdout
    assert live.stderr == replay.stderr
    assert (OF_CODEX["rate_limited"] in live.stderr) is (form == "jsonl")
    assert form == "pretty" or live.stdout == replay.stdout


@pytest.mark.rule("C7")
@pytest.mark.parametrize("command", ["run", "replay"])
def test_quiet_says_nothing_on_standard_error(cli: Cli, command: str) -> None:
    lines = [thread_started("t"), turn_started(), error(LIMITED), turn_failed(LIMITED)]
    (cli.directory / "recording.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(lines))
    agent = cli.agent(*map(PrintJson, lines), Exit(1))
    words = ["--codex", agent, "x"] if command == "run" else ["--exit-status", "1", "recording.jsonl"]
    done = cli.run(command, "--quiet", *words)
    assert (done.status, done.stderr) == (1, "")
    assert b"rate_limited" in done.stdout


def test_each_hint_has_a_sentence_that_fits_a_line() -> None:
    assert list(ADVICE) == list(get_args(Hint))
    for advice in (ADVICE, *(agent_of(kind).advice for kind in kinds())):
        assert set(advice) <= set(ADVICE)
        assert [
            hint for hint, sentence in advice.items() if not 20 < len(sentence) < 120 or not sentence.endswith(".")
        ] == []


@pytest.mark.rule("AG4")
@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind != DEFAULT_AGENT])
def test_the_commands_in_the_advice_of_an_agent_select_this_agent(kind: str) -> None:
    commands = re.findall(r"`(codex-adapter [^`]*)`", " ".join(agent_of(kind).advice.values()))
    assert set(commands) <= {f"codex-adapter {command} --agent {kind}" for command in ("doctor", "login")}


@pytest.mark.rule("F9")
def test_the_advice_on_a_login_names_the_key_of_a_model_provider() -> None:
    for advice in (ADVICE, OF_CODEX):
        assert "key of your model provider" in advice["not_logged_in"]


@pytest.mark.rule("C7")
def test_a_hint_is_told_once_with_the_error_s_own_advice_in_the_words_of_options(cli: Cli) -> None:
    missing = str(cli.directory / "missing")
    program, person = (cli.run("run", "--format", form, "--codex", missing, "x") for form in ("jsonl", "pretty"))
    assert program.complaint == program.completion["error"]["advice"]
    assert program.complaint.startswith("The path in --codex does not exist. ")
    assert f"! {program.complaint}\n" in person.stdout.decode()
    assert person.stderr == ""


@pytest.mark.rule("C7", "E1", "F11", "F12")
@pytest.mark.parametrize("form", ["jsonl", "pretty", "text"])
@pytest.mark.fault(
    "environment",
    "The sandbox of the CLI cannot start, as in most containers",
    "The first command yields an error event, and the run fails with the hint `sandbox_unavailable`",
)
def test_a_sandbox_that_cannot_start_is_told_in_every_form(cli: Cli, form: str) -> None:
    complaint = "bwrap: No permissions to create a new namespace, likely because of x.\n"
    lines = [thread_started("t"), turn_started(), command_completed("i", "make", complaint, 1)]
    lines += [agent_message("m", "Done."), turn_completed()]
    done = cli.run("run", "--format", form, "--codex", cli.agent(*map(PrintJson, lines)), "x")
    advice = OF_CODEX["sandbox_unavailable"]
    shown = done.stdout.decode()
    assert done.status == 1
    if form == "jsonl":
        assert (done.completion["ok"], done.completion["hint"]) == (False, "sandbox_unavailable")
        assert done.completion["advice"] == done.complaint == advice
        assert [record.get("message") for record in done.records].count(SANDBOX_FAILED) == 1
        assert "bwrap" not in shown
    elif form == "pretty":
        assert shown.index(SANDBOX_FAILED) < shown.index("Done.") < shown.index(f"! {advice}\n")
        assert done.stderr == ""
    else:
        assert (shown, done.complaint) == ("Done.\n", advice)


@pytest.mark.rule("C7", "E1", "F11", "F14")
@pytest.mark.parametrize("form", ["jsonl", "pretty", "text"])
@pytest.mark.fault(
    "stream",
    "The model ignores the output schema and answers with plain text",
    "The run completes with the text, is not `ok`, and has the hint `schema_ignored`",
)
def test_an_answer_that_ignores_the_output_schema_is_told_in_every_form(cli: Cli, form: str) -> None:
    (cli.directory / "schema.json").write_text('{"type": "object"}')
    lines = [thread_started("t"), turn_started(), agent_message("m", "Done."), turn_completed()]
    words = ("--codex", cli.agent(*map(PrintJson, lines)), "--output-schema", "schema.json", "x")
    done = cli.run("run", "--format", form, *words)
    advice = ADVICE["schema_ignored"]
    shown = done.stdout.decode()
    assert done.status == 1
    if form == "jsonl":
        assert (done.completion["ok"], done.completion["hint"]) == (False, "schema_ignored")
        assert (done.completion["final_text"], done.completion["advice"]) == ("Done.", advice)
    elif form == "pretty":
        assert shown.index("Done.") < shown.index(f"! {advice}\n")
    else:
        assert (shown, done.complaint) == ("Done.\n", advice)


def test_each_kind_of_failure_to_start_has_its_hint(cli: Cli) -> None:
    (cli.directory / "plain").touch()
    for words, hint in (
        (("--codex", "./missing"), "cli_not_found"),
        (("--codex", "./plain"), "cli_not_executable"),
        (("--codex", cli.agent(), "--codex-home", "./nowhere"), "home_missing"),
    ):
        error = cli.run("run", *words, "x").completion["error"]
        assert error["hint"] == hint
        assert error["advice"]
