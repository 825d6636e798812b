"""Test each row of the table of exit statuses of `run` and `replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from codex_adapter.cli.option_names import name_time_limits
from codex_adapter.hints import ADVICE, Hint
from codex_adapter.testing import Die, Exit, Hang, PrintJson, ReadPrompt, Step, WriteFile
from codex_adapter.testing.thread_lines import (
    THREAD_ID,
    agent_message,
    command_completed,
    command_started,
    thread_started,
    turn_completed,
    turn_failed,
    turn_started,
)

from ..waiting import until
from .command import Cli, Done
from .slow_clock import SLOW_CLOCK, let_time_pass

pytestmark = pytest.mark.rule("E1")
SPAWN = {
    "kind": "backend",
    "message": "codex backend error: spawn (details redacted when unsafe)",
    "failure": "spawn",
}
FAILED = {"outcome": "failed", "ok": False}
TIMEOUT = "codex backend error: timeout (details redacted when unsafe)"
BEGINNING: Final = [thread_started(), turn_started()]
WHOLE: Final = [*BEGINNING, agent_message("item_0", "Done."), turn_completed()]
NO_SANDBOX: Final = command_completed("item_0", "make", "bwrap: No permissions to create a new namespace.\n", 1)
NOT_OK: Final[dict[str, tuple[list[dict[str, Any]], str | None, str | None]]] = {
    "no turn": ([], None, None),
    "a session without a turn": ([thread_started()], None, None),
    "a turn that never ended": (WHOLE[:-1], "cut_off", None),
    "another turn that never ended": ([*WHOLE, turn_started()], "cut_off", None),
    "a failed turn": ([*BEGINNING, turn_failed("no")], "failed", None),
    "a failed turn with a hint": ([*BEGINNING, turn_failed("Quota exceeded. Try later.")], "failed", "quota_exceeded"),
    "a turn without a sandbox": ([*BEGINNING, NO_SANDBOX, *WHOLE[2:]], "completed", "sandbox_unavailable"),
}
"""What an agent that exits with 0 prints in a run that does not succeed, with the turn and the hint of the run."""


def perform(cli: Cli, command: str, lines: list[dict[str, Any]], status: int = 0) -> Done:
    """A run of an agent that prints these lines and exits with this status, or the replay of the lines."""
    if command == "run":
        return cli.run("run", "--codex", cli.agent(ReadPrompt(), *map(PrintJson, lines), Exit(status)), "Hi.")
    (cli.directory / "recording.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(lines))
    return cli.run("replay", "--exit-status", str(status), "recording.jsonl")


@pytest.mark.rule("F11")
@pytest.mark.parametrize("command", ["run", "replay"])
def test_it_is_0_when_the_run_succeeded(cli: Cli, command: str) -> None:
    done = perform(cli, command, WHOLE)
    assert (done.status, done.completion["ok"], done.stderr) == (0, True, "")


@pytest.mark.rule("F11")
@pytest.mark.parametrize("command", ["run", "replay"])
@pytest.mark.parametrize("what", NOT_OK)
@pytest.mark.fault(
    "stream", "The agent exits with status 0 and its run did not succeed", "`ok` is false, and the exit status is 1"
)
def test_it_is_1_when_the_agent_exits_with_0_and_the_run_did_not_succeed(cli: Cli, command: str, what: str) -> None:
    lines, turn, hint = NOT_OK[what]
    done = perform(cli, command, lines)
    assert (done.status, done.completion["ok"], done.completion["outcome"]) == (1, False, "completed")
    assert done.completion["status"] == {"code": 0, "signal": None}
    assert (done.completion.get("turn"), done.completion.get("hint")) == (turn, hint)


@pytest.mark.parametrize("lines", [[], WHOLE], ids=["no turn", "whole turn"])
@pytest.mark.parametrize("code", [1, 2, 3, 124, 125, 255])
def test_it_is_the_agents_own_when_that_is_another(cli: Cli, code: int, lines: list[dict[str, Any]]) -> None:
    done = perform(cli, "run", lines, code)
    assert (done.status, done.completion["ok"], done.completion["outcome"]) == (code, False, "completed")
    assert done.completion["status"] == {"code": code, "signal": None}
    assert done.stderr == ""


@pytest.mark.parametrize(("name", "status"), [("SIGKILL", 137), ("SIGTERM", 143), ("SIGSEGV", 139), ("SIGRTMIN", 162)])
def test_it_tells_the_signal_that_the_agent_died_of(cli: Cli, name: str, status: int) -> None:
    done = cli.run("run", "--codex", cli.agent(ReadPrompt(), Die(name)), "Hi.")
    assert done.status == status
    assert done.completion == {"outcome": "completed", "ok": False, "status": {"code": None, "signal": name}}


@pytest.mark.rule("C6")
@pytest.mark.parametrize(
    ("words", "steps", "message", "hint"),
    [
        (("--timeout", "60"), (), TIMEOUT, "time_limit"),
        (("--idle-timeout", "60"), (PrintJson(thread_started()),), "codex stream idle timeout: 60s", "idle_limit"),
        (
            ("--tool-timeout", "60", "--idle-timeout", "60"),
            (PrintJson(turn_started()), PrintJson(command_started("item_0", "make"))),
            TIMEOUT,
            "tool_limit",
        ),
    ],
)
@pytest.mark.rule("F9", "W2")
def test_it_is_124_after_a_time_limit_which_the_hint_names(
    cli: Cli, words: tuple[str, ...], steps: tuple[Step, ...], message: str, hint: Hint
) -> None:
    begun = cli.directory / "begun"
    agent = cli.agent(ReadPrompt(), *steps, WriteFile(str(begun)), Hang())
    with cli.start("run", "--codex", agent, *words, "Hi.", program=SLOW_CLOCK) as process:
        assert process.stdout is not None
        events = [process.stdout.readline() for _ in steps]
        until(begun.exists)
        let_time_pass(process)
        done = cli.finish(process)
    done = done._replace(stdout=b"".join(events) + done.stdout)
    assert done.status == 124
    why = {"hint": hint, "advice": ADVICE[hint]}
    session = {"session_id": THREAD_ID} if hint == "idle_limit" else {}
    error = {"kind": "backend", "message": message, "failure": "timeout", **why}
    assert done.completion == {**FAILED, "error": error, **session, **why}
    assert done.complaint == name_time_limits(ADVICE[hint])


def test_it_is_125_when_the_session_is_not_there(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), PrintJson(thread_started()), PrintJson(agent_message("item_0", "x")), Hang())
    done = cli.run("run", "--codex", agent, "--resume", "0199a213-81c0-7800-8aa1-000000000000", "Hi.")
    assert done.status == 125
    why = {"hint": "session_unknown", "advice": ADVICE["session_unknown"]}
    error = {"kind": "backend", "message": "session not found", "failure": "session", **why}
    assert done.completion == {**FAILED, "error": error, **why}


@pytest.mark.rule("S8")
def test_it_is_125_when_the_installed_release_cannot_do_it_and_says_why(cli: Cli) -> None:
    done = cli.run("run", "--codex", cli.agent(version="0.77.0"), "--fork", "0199", "Hi.")
    assert done.status == 125
    message = "codex backend error: invalid_request (details redacted when unsafe)"
    error = {"kind": "backend", "message": message, "failure": "invalid_request", "advice": done.complaint}
    assert done.completion == {**FAILED, "error": error, "advice": done.complaint}
    assert "0.155.0" in done.complaint


@pytest.mark.rule("S6")
def test_it_is_126_when_the_binary_cannot_be_executed(cli: Cli) -> None:
    plain = cli.directory / "plain"
    plain.touch()
    for path in (plain, cli.directory):
        done = cli.run("run", "--codex", str(path), "Hi.")
        assert done.status == 126
        why = {"hint": "cli_not_executable", "advice": done.complaint}
        assert done.completion == {**FAILED, "error": {**SPAWN, **why}, **why}
        assert "--codex" in done.complaint
        assert str(path) not in done.complaint


@pytest.mark.rule("S6")
def test_it_is_126_when_the_binary_is_for_another_system(cli: Cli) -> None:
    alien = cli.directory / "alien"
    alien.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    alien.chmod(0o755)
    done = cli.run("run", "--codex", str(alien), "Hi.")
    assert done.status == 126
    error = {**SPAWN, "hint": "cli_not_executable", "advice": done.complaint}
    assert done.completion["error"] == error


@pytest.mark.rule("S6")
def test_it_is_127_when_the_binary_cannot_be_found(cli: Cli) -> None:
    for name in (str(cli.directory / "nowhere"), "no-such-codex"):
        done = cli.run("run", "--codex", name, "Hi.")
        assert done.status == 127
        why = {"hint": "cli_not_found", "advice": done.complaint}
        assert done.completion == {**FAILED, "error": {**SPAWN, **why}, **why}
        assert "openai-codex-cli-bin" in done.complaint
        assert name not in done.complaint


def test_it_is_2_when_the_request_is_refused(cli: Cli, tmp_path: Path) -> None:
    assert cli.run("run", "--timeout", "-1", "Hi.").status == 2
    done = cli.run("replay", str(tmp_path / "nowhere"))
    assert done.status == 2
    assert done.completion["error"]["kind"] == "invalid_request"
