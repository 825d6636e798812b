"""Test the command `operations`: input and output lines, the log, signals, and wrong command lines."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ..runtime.survivors import Survivors
from ..waiting import until
from .command import Cli, Done


def message(*operations: dict[str, Any]) -> bytes:
    """One of these operations, as a line."""
    return json.dumps({"protocolVersion": "1.0", "operations": list(operations)}).encode() + b"\n"


def in_the_middle(cli: Cli, root: Path) -> subprocess.Popen[bytes]:
    """The command while a command of its own never ends, with another operation behind that."""
    sleep = {"type": "shell", "command": ": > begun; sleep 1000", "timeout": 3_600_000}
    process = cli.start("operations", "--workspace", str(root))
    assert process.stdin is not None
    process.stdin.write(message(sleep, {"type": "message", "content": "."}))
    process.stdin.flush()
    until((root / "begun").exists)
    return process


def answers(done: Done) -> list[Any]:
    """What was written."""
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def root(cli: Cli) -> Path:
    """A workspace."""
    path = cli.directory / "workspace"
    path.mkdir()
    return path


@pytest.mark.rule("C11", "O7", "A8")
def test_messages_and_decisions_are_lines_in_and_events_messages_lines_out(cli: Cli, root: Path) -> None:
    lines = [
        message({"type": "createFile", "path": "a/b", "content": "é"}),
        b"\n",
        message({"type": "shell", "command": "rm -rf a", "id": "x"}, {"type": "message", "content": "."}),
        b'{"type": "userMessage", "content": "approved"}\n',
        b"garbage\n",
        b'{"protocolVersion": "2.0", "operations": []}',
    ]
    done = cli.run("operations", "--workspace", str(root), stdin=b"".join(lines))
    assert (done.status, done.stderr) == (0, "")
    created, paused, resumed, garbage, version = answers(done)
    assert created["events"][0]["bytesWritten"] == 2
    assert (paused["status"], resumed["status"], resumed["runId"]) == (
        "awaiting_approval",
        "completed",
        paused["runId"],
    )
    assert [event["type"] for event in resumed["events"]] == ["shell", "message"]
    assert (garbage["status"], garbage["events"][0]["message"]) == ("error", "a message must be JSON in UTF-8")
    assert "protocolVersion" in version["events"][0]["message"]
    assert list(root.iterdir()) == []


@pytest.mark.rule("C11", "A9")
def test_the_log_can_be_read_back(cli: Cli, root: Path) -> None:
    state = ("--state", str(cli.directory / "state.db"))
    cli.run("operations", "--workspace", str(root), *state, stdin=message({"type": "message", "content": "."}))
    done = cli.run("operations", "--audit", *state)
    assert (done.status, done.stderr) == (0, "")
    assert [(entry["kind"], entry["position"]) for entry in answers(done)] == [
        ("message", None),
        ("event", 0),
        ("ended", None),
    ]


@pytest.mark.rule("C11", "O13")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_kills_the_command_under_way_and_tells_what_is_left(
    cli: Cli, root: Path, number: int, status: int
) -> None:
    with in_the_middle(cli, root) as process:
        process.send_signal(number)
        done = cli.finish(process)
    [answer] = answers(done)
    killed, left = answer["events"]
    assert (done.status, done.stderr, answer["status"]) == (status, "", "error")
    assert killed["error"] == "The runtime received a stop signal; the command was killed"
    assert (left["category"], left["details"]) == ("system", {"notCarriedOut": 1})
    assert Survivors(root).now() == []


@pytest.mark.rule("C11", "O13")
def test_a_reader_that_leaves_ends_it_and_the_command_under_way(cli: Cli, root: Path) -> None:
    with in_the_middle(cli, root) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        assert cli.finish(process).status == 0
    assert Survivors(root).now() == []


@pytest.mark.rule("C11")
def test_a_line_that_is_too_long_is_answered_and_the_next_one_taken_up(cli: Cli, root: Path) -> None:
    line = b'{"protocolVersion":"1.0","operations":[{"type":"message","content":"%b"}]}\n' % (b" " * (64 << 20))
    done = cli.run("operations", "--workspace", str(root), stdin=line + message())
    refused, taken = answers(done)
    assert refused["events"][0]["message"] == "a message must have at most 67108864 bytes"
    assert taken["status"] == "completed"


@pytest.mark.rule("C11")
def test_a_state_that_cannot_be_kept_ends_it_with_125(cli: Cli, root: Path) -> None:
    done = cli.run("operations", "--workspace", str(root), "--state", str(cli.directory), stdin=message())
    assert (done.status, done.stdout) == (125, b"")
    assert done.stderr == "codex-adapter: --state: the state file cannot be created or written. Name another file\n"
