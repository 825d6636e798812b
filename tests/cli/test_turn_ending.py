"""Test how a turn ends from outside: by a time limit, and by a signal while its output is not read."""

from __future__ import annotations

import fcntl
import signal
import termios
from array import array
from typing import IO

import pytest

from codex_adapter.cli.option_names import name_time_limits
from codex_adapter.hints import ADVICE, Hint
from codex_adapter.testing import Hang, PrintJson, ReadPrompt, Step, WriteFile
from codex_adapter.testing.thread_lines import (
    THREAD_ID,
    agent_message,
    command_started,
    thread_started,
    turn_completed,
    turn_started,
)

from ..protocols.turns.event_rules import check_events
from ..runtime.survivors import Survivors
from ..spaces.spaces_stage import make_space
from ..waiting import SOON, until
from .command import Cli, only_the_workspace

pytestmark = pytest.mark.rule("C13")
BEGIN: tuple[Step, ...] = (ReadPrompt(), PrintJson(thread_started(THREAD_ID)), PrintJson(turn_started()))
LONG = "x" * 1_000_000


def _is_stuck(stdout: IO[bytes] | None) -> bool:
    """Whether there is so much in the pipe that the rest of what is told finds no room."""
    assert stdout is not None
    waiting = array("i", [0])
    fcntl.ioctl(stdout, termios.FIONREAD, waiting)
    return waiting[0] > fcntl.fcntl(stdout, fcntl.F_GETPIPE_SZ) // 2


@pytest.fixture
def turn(cli: Cli) -> list[str]:
    """A command line without its options and its prompt."""
    make_space(cli.directory / "house", "house")
    only_the_workspace(cli)
    cli.env["ASP_HOME"] = f"{cli.directory}-asp"
    return ["turn", "--space", "space:path:house"]


@pytest.mark.rule("K1", "K2", "E1")
@pytest.mark.parametrize(
    ("steps", "limit", "hint"),
    [
        ((), "--timeout", "time_limit"),
        ((), "--idle-timeout", "idle_limit"),
        ((PrintJson(command_started("item_0", "sleep 9")),), "--tool-timeout", "tool_limit"),
    ],
)
@pytest.mark.fault(
    "timing", "An agent hangs during a turn", "The adapter kills it and reports a failed turn; the exit status is 124"
)
def test_a_turn_that_takes_too_long_is_ended(
    cli: Cli, turn: list[str], steps: tuple[Step, ...], limit: str, hint: Hint
) -> None:
    cli.env["CODEX_BINARY"] = cli.agent(*BEGIN, *steps, Hang())
    done = cli.run(*turn, limit, "0.3", "Hi.")
    assert (done.status, done.complaint) == (124, name_time_limits(ADVICE[hint]))
    run = done.records[0]["externalRunId"]
    check_events(done.records, run, run)
    assert done.records[-1]["result"]["error"]["message"] == ADVICE[hint]
    assert Survivors(cli.directory).now() == []


@pytest.mark.rule("X5")
def test_a_value_that_is_to_be_masked_is_not_told(cli: Cli, turn: list[str]) -> None:
    said = (agent_message("item_0", "It is hunter2-hunter2."), turn_completed())
    cli.env["CODEX_BINARY"] = cli.agent(*BEGIN, *map(PrintJson, said))
    done = cli.run(*turn, "--env", "HARMLESS=hunter2-hunter2", "--mask", "HARMLESS", "Hi.")
    assert (done.status, done.stderr, b"hunter2" in done.stdout) == (0, "", False)
    assert done.records[-1]["result"]["finalOutput"] == "It is ***."


@pytest.mark.rule("E3", "E4", "U2")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.fault(
    "signals",
    "The command receives a signal during a turn whose events are not read",
    "The command exits without its reader and no process survives",
)
def test_one_signal_ends_a_turn_that_nobody_reads(cli: Cli, turn: list[str], number: int, status: int) -> None:
    there = cli.directory / "there"
    said = PrintJson(agent_message("item_0", LONG))
    cli.env["CODEX_BINARY"] = cli.agent(*BEGIN, said, WriteFile(str(there)), Hang())
    with cli.start(*turn, "Hi.") as process:
        try:
            until(there.exists)
            until(lambda: _is_stuck(process.stdout))
            process.send_signal(number)
            assert process.wait(SOON) == status
        finally:
            process.kill()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert Survivors(cli.directory).now() == []
