"""Test the log on standard error: one line per message, the requested level, and no blocking."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

import pytest

from codex_adapter.cli.logs import logging_to_stderr
from codex_adapter.testing import PrintJson, ReadPrompt, write_agent
from codex_adapter.testing.thread_lines import thread_started, turn_completed, turn_started

from .command import Cli

pytestmark = pytest.mark.rule("C20")

LINE = re.compile(r"codex-adapter: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info|warning|error): (.*)")
SECRET = "correct-horse-battery-staple-7"
LOG = logging.getLogger("codex_adapter")


def logged(text: str) -> list[tuple[str, str]]:
    """Return the level and the text of each line."""
    found = [LINE.fullmatch(line) for line in text.splitlines()]
    return [(line[1], line[2]) for line in found if line is not None]


@pytest.mark.parametrize(("level", "lines"), [(None, 2), ("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_a_level_and_those_above_it_are_logged(
    capfd: pytest.CaptureFixture[str], level: str | None, lines: int
) -> None:
    with logging_to_stderr(level):
        for each in ("debug", "info", "warning", "error"):
            LOG.log(getattr(logging, each.upper()), "a %s", each)
    LOG.error("too late")
    told = [(each, f"a {each}") for each in ("debug", "info", "warning", "error")]
    assert logged(capfd.readouterr().err.replace("too late\n", "")) == told[-lines:]


@pytest.mark.rule("X3")
def test_a_message_is_one_line_and_an_error_only_its_type(capfd: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr(None):
        try:
            int(SECRET)
        except ValueError:
            LOG.exception("one\ntwo \x1b[31m%s", "three")
    assert logged(capfd.readouterr().err) == [("error", "one?two ?[31mthree (ValueError)")]


@pytest.mark.fault(
    "consumer", "No process reads the log on standard error", "The adapter drops messages and counts them"
)
def test_what_standard_error_has_no_room_for_is_dropped_and_counted() -> None:
    reading, writing = os.pipe()
    saved = os.dup(2)
    os.dup2(writing, 2)
    try:
        with logging_to_stderr(None):
            for number in range(100):
                LOG.warning("%d %s", number, "x" * 3000)
            os.read(reading, 1_000_000)
            LOG.warning("the last")
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        last = pipe.read().decode()
    assert re.search(r"the last \(\d\d lines before it were dropped\)\n$", last)


def test_a_line_has_an_end_however_long_the_message(capfd: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr(None):
        LOG.warning("%s", "ü" * 100_000)
    told = capfd.readouterr().err
    assert len(told.encode(errors="surrogateescape")) <= 4_003
    assert told.count("\n") == 1


@pytest.mark.rule("C9")
@pytest.mark.parametrize("level", [None, "info"])
def test_a_daemon_logs_its_runs_without_a_word_of_theirs(cli: Cli, tmp_path: Path, level: str | None) -> None:
    steps = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()), PrintJson(turn_completed()))
    binary = write_agent(tmp_path / "agent", steps)
    requests = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1.0"}}\n'
        '{"jsonrpc":"2.0","id":2,"method":"run/start","params":{"runId":"r","agentKind":"codex",'
        f'"request":{{"prompt":"{SECRET}","labels":{{"a":"{SECRET}"}}}}}}}}\n'
    )
    options = [] if level is None else ["--log-level", level]
    done = cli.run("serve", "--codex", binary, "--on-eof", "drain", *options, stdin=requests.encode())
    assert done.status == 0
    assert b'"ok":true' in done.stdout
    assert SECRET not in done.stderr
    told = [text for _, text in logged(done.stderr)]
    if level is None:
        assert done.stderr == ""
    else:
        assert any(text.startswith("run r: the agent has started, with containment ") for text in told)
        assert any(re.fullmatch(r"run r: ok after \d+\.\d s", text) for text in told)
        assert len(told) == len(done.stderr.splitlines())


@pytest.mark.rule("X6")
def test_a_warning_of_a_run_is_a_line_of_the_log(cli: Cli, tmp_path: Path) -> None:
    binary = write_agent(tmp_path / "agent", (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started())))
    words = ("run", "--codex", binary, "--env", "MINE=short", "--mask", "MINE", "--quiet", "Hi.")
    assert logged(cli.run(*words).stderr)[0] == (
        "warning",
        "the value of MINE is not masked: it is shorter than 8 characters",
    )
    assert logged(cli.run(words[0], "--log-level", "error", *words[1:]).stderr) == []
