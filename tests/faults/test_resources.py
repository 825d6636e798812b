"""Test a machine with short resources: runs succeed with less, or fail with a typed error."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import msgspec
import pytest
import trio

from codex_adapter import (
    CodexConfig,
    Completion,
    RunRequest,
    collect,
    open_run,
)
from codex_adapter.runtime.containment.containment import Level
from codex_adapter.testing import (
    Exit,
    PrintJson,
    ReadPrompt,
    Step,
    long_line,
)
from codex_adapter.testing.thread_lines import thread_started

from ..cli.command import ADAPTER, Cli
from ..runtime.agents import WHOLE_TURN, backend, config
from ..runtime.survivors import Survivors
from .circumstances import in_namespace, limited, needs
from .ordinary import IO

MIB = 1024 * 1024
FULL = "No space left on device"


def shell(path: Path, text: str) -> str:
    """An agent that is a shell script."""
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit\n{text}\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.rule("Q3", "S10", "W3")
@pytest.mark.fault(
    "resources",
    "The schema file fills the temporary file system",
    "The adapter raises BackendError `io` with advice; the status is 125",
)
def test_a_schema_that_fills_the_disk_is_an_io_error(cli: Cli) -> None:
    small = in_namespace(f"mount -t tmpfs -o size=64k none '{cli.directory}/temporary'")
    needs(in_namespace("mount -t tmpfs none /mnt"))
    (cli.directory / "schema").write_bytes(msgspec.json.encode({"description": "x" * MIB}))
    words = ("run", "--codex", cli.agent(), "--output-schema", "schema", "Hi.")
    done = cli.run(*words, program=(*small, *ADAPTER))
    assert (done.status, done.completion["error"]["message"]) == (125, IO)
    assert "temporary directory" in done.complaint


@pytest.mark.rule("Q3", "S10", "W3")
@pytest.mark.fault(
    "resources", "RLIMIT_FSIZE allows no file content", "The schema file yields an `io` error and no agent starts"
)
def test_a_schema_that_may_not_be_written_is_an_io_error(cli: Cli) -> None:
    (cli.directory / "schema").write_text('{"type":"object"}')
    words = ("run", "--codex", cli.agent(), "--output-schema", "schema", "Hi.")
    done = cli.run(*words, program=(*limited("RLIMIT_FSIZE", 0), *ADAPTER))
    assert (done.status, done.completion["error"]["message"]) == (125, IO)


@pytest.mark.rule("W3", "E1")
@pytest.mark.fault(
    "resources",
    "Stdout is full (ENOSPC) at an event, completion, refusal, replay or help text",
    "The status is 125 and one line names the problem",
)
@pytest.mark.parametrize("kind", ["event", "completion", "refusal", "replay", "help", "schema"])
def test_a_full_standard_output_is_told_at_every_kind_of_record(cli: Cli, kind: str) -> None:
    (cli.directory / "recorded").write_bytes(msgspec.json.encode(thread_started()) + b"\n")
    steps: list[Step] = [PrintJson(thread_started())] if kind == "event" else []
    words = {
        "refusal": ("run", "--timeout", "-1", "Hi."),
        "replay": ("replay", "recorded"),
        "help": ("run", "--help"),
        "schema": ("schema",),
    }.get(kind, ("run", "--codex", cli.agent(ReadPrompt(), *steps), "Hi."))
    with Path("/dev/full").open("wb") as full:
        done = cli.finish(cli.start(*words, stdout=full))
    assert done.status == 125
    assert FULL in done.stderr


@pytest.mark.rule("E1", "E5")
@pytest.mark.fault("resources", "Standard error is full (ENOSPC)", "The status and the records do not change")
@pytest.mark.parametrize(
    ("words", "status"), [(("--timeout", "-1"), 2), (("--unheard-of",), 2), (("--codex", "/nowhere"), 127)]
)
def test_a_full_standard_error_changes_nothing_else(cli: Cli, words: tuple[str, ...], status: int) -> None:
    with Path("/dev/full").open("wb") as full:
        done = cli.finish(cli.start("run", *words, "Hi.", stderr=full))
    assert done.status == status
    assert (done.stdout == b"") is (words == ("--unheard-of",))


@pytest.mark.rule("B2", "L2")
@pytest.mark.fault("resources", "RLIMIT_AS leaves 160 MiB for lines of 12 MiB", "The run succeeds")
def test_long_lines_need_little_address_space(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), PrintJson(thread_started()), long_line(12 * MIB), long_line(12 * MIB), Exit(3))
    done = cli.run("run", "--codex", agent, "Hi.", program=(*limited("RLIMIT_AS", 160 * MIB), *ADAPTER))
    assert (done.status, done.stderr) == (3, "")
    assert sum(len(record.get("text", "")) for record in done.records) > 23 * MIB


@pytest.mark.rule("C1", "S3")
@pytest.mark.fault(
    "resources", "The stack is small (RLIMIT_STACK)", "The run succeeds, and deeply nested JSON yields one error"
)
def test_a_small_stack_is_enough(cli: Cli) -> None:
    (cli.directory / "deep").write_bytes(
        b'{"type":' + b"[" * 100_000 + b"\n" + b'{"type":"x","y":' + b'{"a":' * 100_000 + b"\n"
    )
    agent = shell(cli.directory / "codex", f"cat '{cli.directory}/deep'; exit 3")
    done = cli.run("run", "--codex", agent, "Hi.", program=(*limited("RLIMIT_STACK", 512 * 1024), *ADAPTER))
    assert (done.status, done.stderr) == (3, "")
    assert [record["kind"] for record in done.records[:-1]] == ["error"] * 3


@pytest.mark.rule("F3")
@pytest.mark.fault(
    "resources",
    "RLIMIT_NPROC stops the agent from starting processes during the run",
    "The adapter reports its events and its status",
)
@pytest.mark.fault("resources", "SIGKILL ends the agent, as by the kernel's OOM killer", "The completion names SIGKILL")
@pytest.mark.fault("resources", "The agent exceeds its file size limit (RLIMIT_FSIZE)", "The completion names SIGXFSZ")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("setpriv --reuid 54321 prlimit --nproc=0 sh -c '/bin/true; exit 3' 2>/dev/null; exit 3", "exit status: 3"),
        ("kill -KILL $$", "SIGKILL"),
        ("ulimit -f 0; exec dd if=/dev/zero of=full count=1 2>/dev/null", "SIGXFSZ"),
    ],
)
async def test_an_agent_that_runs_out_of_something_has_its_status_told(
    tmp_path: Path, level: Level, nothing_left: None, text: str, told: str
) -> None:
    line = msgspec.json.encode(thread_started()).decode()
    agent = shell(tmp_path / "codex", f"echo '{line}'\n{text}")
    settings = CodexConfig(binary=agent, default_working_dir=str(tmp_path))
    async with backend(level, settings).open_run(RunRequest(prompt="x")) as run:
        events = [event async for event in run.events]
        assert told in str((await run.wait_completed()).status)
    assert [event.kind for event in events] == ["status", "error"]


@pytest.mark.rule("F3")
@pytest.mark.fault("resources", "The agent exceeds its CPU time limit (RLIMIT_CPU)", "The completion names SIGXCPU")
async def test_an_agent_that_has_used_up_its_time_has_its_signal_told(tmp_path: Path, nothing_left: None) -> None:
    agent = shell(tmp_path / "codex", "ulimit -S -t 1\nwhile :; do :; done")
    completion = await collect(RunRequest(prompt="x"), config=CodexConfig(binary=agent))
    assert completion.status.signal == "SIGXCPU"


@pytest.mark.rule("K5", "N1", "N2")
@pytest.mark.fault(
    "resources",
    "Eight threads each execute a trio event loop with runs",
    "Each run succeeds and none outlives its thread",
)
def test_runs_in_many_threads_are_each_right(tmp_path: Path, nothing_left: None) -> None:
    told: dict[int, Completion] = {}
    settings = [config(tmp_path / str(number), *WHOLE_TURN, Exit(number)) for number in range(8)]

    def one(number: int) -> None:
        async def run() -> None:
            told[number] = await collect(RunRequest(prompt="x"), config=settings[number])

        trio.run(run)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {number: completion.status.code for number, completion in told.items()} == {n: n for n in range(8)}


@pytest.mark.rule("K5", "N2")
@pytest.mark.fault(
    "resources",
    "So many descriptors are open that the run's descriptors exceed the range of `select`",
    "The run succeeds",
)
async def test_a_run_among_two_thousand_descriptors_is_right(
    tmp_path: Path, level: Level, nothing_left: None, survivors: Survivors
) -> None:
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(2000)]
    try:
        request = RunRequest(prompt="x", env=survivors.env)
        async with backend(level, config(tmp_path, *WHOLE_TURN)).open_run(request) as run:
            assert len([event async for event in run.events]) == 4
            assert (await run.wait_completed()).final_text == "done"
    finally:
        for number in opened:
            os.close(number)


@pytest.mark.rule("D4", "F1")
@pytest.mark.fault(
    "resources",
    "Twenty runs wait for consumers that do not read",
    "No run blocks another, and all succeed in the end",
)
async def test_many_runs_that_wait_for_their_consumers_hold_no_other(tmp_path: Path, nothing_left: None) -> None:
    line = msgspec.json.encode(thread_started()).decode()
    # More than the pipe and one hand-off hold.
    flood = shell(tmp_path / "codex", f"yes '{line}' | head -n 8000")
    settings = CodexConfig(binary=flood, default_working_dir=str(tmp_path))
    reading = trio.Event()
    counts: list[int] = []
    waiting, begun = trio.open_memory_channel[None](0)

    async def late() -> None:
        async with open_run(RunRequest(prompt="x"), config=settings) as run:
            await run.events.receive()
            await waiting.send(None)
            await reading.wait()
            counts.append(1 + len([event async for event in run.events]))
            assert (await run.wait_completed()).status.success

    quick = config(tmp_path / "quick", *WHOLE_TURN)
    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(late)
        for _ in range(20):
            await begun.receive()
        assert (await collect(RunRequest(prompt="x", working_dir=str(tmp_path)), config=quick)).final_text == "done"
        reading.set()
    assert counts == [8_000] * 20
