"""Test a process with unusual signals, descriptors or levels: its agents are not affected."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

import pytest

from codex_adapter import (
    CodexConfig,
    RunRequest,
    SpawnError,
    collect,
)
from codex_adapter.agents.codex.backend import CodexBackend
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.testing import (
    Exit,
    ReadPrompt,
    WriteFacts,
    read_facts,
)

from ..cli.command import ADAPTER, Cli
from ..runtime.agents import WHOLE_TURN
from ..waiting import until
from .circumstances import after, in_namespace, needs
from .ordinary import script


@pytest.mark.rule("N2", "S3")
@pytest.mark.fault(
    "spawning", "The adapter starts with every signal blocked", "The agent has no blocked signal and the run succeeds"
)
def test_signals_that_are_blocked_at_the_start_are_blocked_for_nobody_else(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), WriteFacts("facts"), *WHOLE_TURN, Exit(3))
    block = after("signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())")
    done = cli.run("run", "--codex", agent, "Hi.", program=(*block, *ADAPTER))
    assert done.status == 3
    assert read_facts(cli.directory / "facts").blocked == []


@pytest.mark.rule("N2", "S3")
@pytest.mark.fault(
    "spawning",
    "The adapter starts with SIGPIPE, SIGCHLD and all other signals ignored",
    "The agent ignores no signal, and the completion contains its status",
)
def test_signals_that_are_ignored_at_the_start_are_ignored_by_nobody_else(cli: Cli) -> None:
    agent = script(cli.directory / "codex", "#!/bin/sh\ngrep SigIgn /proc/self/status >ignored\nexit 3\n")
    ignore = after(
        "for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n"
        "    signal.signal(number, signal.SIG_IGN)"
    )
    done = cli.run("run", "--codex", str(agent), "Hi.", program=(*ignore, *ADAPTER))
    assert done.status == 3
    assert int((cli.directory / "ignored").read_text().split()[1], 16) == 0


@pytest.mark.rule("S3", "S7")
@pytest.mark.parametrize(
    "descriptors",
    [
        pytest.param(
            (0, 1, 2),
            marks=pytest.mark.fault(
                "spawning",
                "Descriptors 0, 1 and 2 are closed, so that the agent's pipes get these numbers",
                "The agent has its three streams and the run succeeds",
            ),
        ),
        pytest.param((1,), id="1"),
        pytest.param((0, 2), id="0 and 2"),
    ],
)
def test_pipes_under_the_numbers_of_standard_descriptors_are_the_agents_all_the_same(
    cli: Cli, descriptors: tuple[int, ...]
) -> None:
    agent = cli.agent(ReadPrompt(), WriteFacts("facts"), *WHOLE_TURN)
    # Closed when trio has opened its own, as a daemon does it.
    program = f"""
import os, sys, trio
from codex_adapter import CodexConfig, RunRequest
from codex_adapter.agents.codex.backend import CodexBackend
from codex_adapter.runtime.containment.containment import LEVELS, Containment
async def main():
    for number in {descriptors}:
        os.close(number)
    told = []
    for level in LEVELS:
        backend = CodexBackend(CodexConfig(binary={agent!r}), containment=Containment(allowed=[level]))
        try:
            async with backend.open_run(RunRequest(prompt="é")) as run:
                events = [event.kind async for event in run.events]
                told.append(f"{{len(events)}} {{(await run.wait_completed()).final_text}}")
        except Exception as error:
            told.append("spawn" if getattr(error, "failure", "") == "spawn" else repr(error))
    with open("told", "w") as file:
        file.write("\\n".join(told))
trio.run(main)
"""
    done = cli.finish(cli.start("-c", program, program=(sys.executable,)))
    assert done.status == 0
    told = (cli.directory / "told").read_text().splitlines()
    assert told[-1] == "4 done"
    assert set(told) <= {"4 done", "spawn"}
    facts = read_facts(cli.directory / "facts")
    assert (facts.prompt, facts.open_files) == ("é", [0, 1, 2])


@pytest.mark.rule("C1")
@pytest.mark.fault(
    "spawning", "Standard input is non-blocking and its data arrives late", "The adapter reads the whole prompt"
)
def test_a_prompt_that_comes_late_on_a_non_blocking_input_is_read_to_its_end(cli: Cli) -> None:
    steps = (ReadPrompt(), WriteFacts("facts"), *WHOLE_TURN)
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with cli.start("run", "--codex", cli.agent(*steps), stdin=reader) as process:
        os.close(reader)
        for piece in (b"H", b"i", b"."):
            os.write(writer, piece)
            until(lambda: fcntl.ioctl(writer, 0x541B, bytes(4)) == bytes(4))  # FIONREAD: until it has been read
        os.close(writer)
        done = cli.finish(process)
    assert done.status == 0
    assert read_facts(cli.directory / "facts").prompt == "Hi."


@pytest.mark.rule("S6", "N1")
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    "executable",
    [
        pytest.param(
            "nowhere/python",
            marks=pytest.mark.fault(
                "spawning",
                "The Python executable was removed, so that no guard can start",
                "The run uses `process_group`, or an error that does not claim a missing CLI",
            ),
        ),
        pytest.param("", id="unknown"),
    ],
)
async def test_without_a_program_for_the_guard_a_weaker_level_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setattr("sys.executable", executable and str(tmp_path / executable))
    agent = script(tmp_path / "codex", "#!/bin/sh\nexit 3\n")
    settings = CodexConfig(binary=str(agent), default_working_dir=str(tmp_path))
    containment = Containment()
    try:
        async with CodexBackend(settings, containment=containment).open_run(RunRequest(prompt="x")) as run:
            await run.events.aclose()
            assert (await run.wait_completed()).status.code == 3
        assert containment.level == "process_group"
    except SpawnError as error:
        assert not error.not_found  # noqa: PT017 - either will do
    with pytest.raises(SpawnError) as caught:
        await collect(RunRequest(prompt="x"), config=CodexConfig(binary=str(agent), containment="guard"))
    assert not caught.value.not_found


AT_ONCE = """
import sys, trio
from codex_adapter import CodexConfig, RunRequest
from codex_adapter.agents.codex.backend import CodexBackend
from codex_adapter.runtime.containment.containment import Containment
async def main():
    containment = Containment()
    backend = CodexBackend(CodexConfig(binary=sys.argv[1]), containment=containment)
    statuses = []
    async def one():
        async with backend.open_run(RunRequest(prompt="x")) as run:
            await run.events.aclose()
            statuses.append(str((await run.wait_completed()).status))
    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(one)
    print(containment.level, *sorted(set(statuses)), len(statuses))
trio.run(main)
"""


@pytest.mark.rule("N1")
@pytest.mark.fault(
    "spawning",
    "Eight runs find at the same time that two levels are unavailable",
    "Each run uses the next level, and each level is dropped once",
)
def test_runs_that_find_a_level_missing_at_the_same_moment_all_take_the_next(cli: Cli) -> None:
    poorer = in_namespace("mount -t tmpfs none /sys/fs/cgroup && echo 0 >/proc/sys/user/max_pid_namespaces")
    needs(poorer)
    agent = cli.agent(ReadPrompt(), Exit(3))
    done = cli.finish(cli.start("-c", AT_ONCE, agent, program=(*poorer, sys.executable)))
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout == b"guard exit status: 3 8\n"
