"""Test that a crash of the command leaves no core file, which would contain secrets."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_adapter.testing import Die, Exit, ReadPrompt, Step, WaitFor, WriteFile

from ..cli.command import ADAPTER, Cli
from ..needs import missing
from ..runtime.agents import write_turn
from ..waiting import until
from .leaks import Canary, leaks

PATTERN = Path("/proc/sys/kernel/core_pattern")


@pytest.fixture
def cores() -> Iterator[None]:
    """A crash leaves a core file in the current directory, as far as the system lets it."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    if PATTERN.read_bytes()[:1] in b"|/" or before[1] == 0:
        missing("system")
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


def crash(cli: Cli, program: tuple[str, ...], agent: tuple[Step, ...], prompt: str) -> tuple[bool, list[Path]]:
    """Whether a program that runs the agent says that it dumped its core, and the files that it leaves."""
    process = cli.start("run", "--codex", cli.agent(*agent), prompt, program=program, stdout=subprocess.DEVNULL)
    until((cli.directory / "there").exists)
    process.send_signal(signal.SIGSEGV)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == -signal.SIGSEGV
    assert process.stderr is not None
    process.stderr.close()
    return os.WCOREDUMP(status), [path for path in cli.directory.rglob("core*") if path.is_file()]


@pytest.mark.rule("X9")
@pytest.mark.fault("signals", "The command crashes", "No core file contains the prompt or the environment")
def test_a_crash_of_the_command_leaves_no_core_file(cli: Cli, cores: None) -> None:
    canary = Canary("variable")
    cli.env["APP_TOKEN"] = canary.word
    agent = (ReadPrompt(), WriteFile(str(cli.directory / "there")), WaitFor("never"))
    assert crash(cli, ADAPTER, agent, "x") == (False, [])


@pytest.mark.rule("X9")
def test_another_program_would_leave_one(cli: Cli, cores: None) -> None:
    """So that it is not missing by chance."""
    canary = Canary("variable")
    cli.env["APP_TOKEN"] = canary.word
    program = (sys.executable, "-c", "import signal; open('there', 'x').close(); signal.pause()")
    dumped, files = crash(cli, program, (), "x")
    if not dumped:
        missing("system")
    assert any(leaks(path.read_bytes(), [canary]) for path in files)


@pytest.mark.rule("X9", "E1")
def test_what_the_command_starts_may_dump_its_core_as_ever(cli: Cli, cores: None) -> None:
    done = cli.run("run", "--codex", cli.agent(ReadPrompt(), Die("SIGSEGV")), "x")
    assert done.status == 128 + signal.SIGSEGV
    assert done.completion["status"] == {"code": None, "signal": "SIGSEGV"}
    limits = cli.directory / "limits"
    shell = cli.directory / "shell"
    turn = write_turn(cli.directory / "turn")
    shell.write_text(f"#!/bin/sh\ncat >/dev/null; ulimit -c >{limits}; cat {turn}\n")
    shell.chmod(0o755)
    assert cli.run("run", "--codex", str(shell), "x").status == 0
    soft = resource.getrlimit(resource.RLIMIT_CORE)[0]
    assert limits.read_text().strip() in ("unlimited", str(soft // 512), str(soft // 1024))


@pytest.mark.rule("X9")
def test_the_library_leaves_its_process_as_it_is(cli: Cli) -> None:
    program = """
import ctypes, sys, trio
from codex_adapter import CodexConfig, RunRequest, collect
from codex_adapter.cli import main
trio.run(lambda: collect(RunRequest(prompt="x"), config=CodexConfig(binary=sys.argv[1])))
main(["run", "--codex", sys.argv[1], "x"])
sys.exit(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""
    agent = cli.agent(ReadPrompt(), Exit(0))
    with cli.start(agent, program=(sys.executable, "-c", program)) as process:
        done = cli.finish(process)
    assert (done.status, done.stderr) == (1, "")
