"""Test runs without an event loop in scripts, threads and notebooks, and the errors in asyncio programs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

import codex_adapter
from codex_adapter import (
    CodexBackend,
    CodexConfig,
    Event,
    Gateway,
    InvalidRequestError,
    RunCancelled,
    RunRequest,
    SpawnError,
    sync,
)
from codex_adapter.daemon.client import open_daemon
from codex_adapter.testing import Hang, PrintJson, ReadPrompt, Repeat, Step, write_agent
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

from .rows import rows
from .runtime.survivors import Survivors
from .waiting import SOON, until

BEGUN: tuple[Step, ...] = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()))
GOOD = (
    *BEGUN,
    *(PrintJson(agent_message(f"item_{n}", f"Message {n}.")) for n in range(20)),
    PrintJson(turn_completed()),
)
HANGING = (*BEGUN, Hang())
FLOOD = (*BEGUN, Repeat(json.dumps(agent_message("item_0", "x" * 1000))))
STUBBORN = """#!/bin/sh
[ "$1" = --version ] && echo codex-cli 0.163.0 && exit
trap 'touch asked' INT TERM
echo '{"type":"thread.started","thread_id":"01a20018-057d-7ce3-b0c7-a173a1ba2c6a"}'
while :; do sleep 1000 & wait; done
"""
INTERRUPTED = """
import sys
from codex_adapter import CodexConfig, sync
try:
    with sync.open_run("x", config=CodexConfig(binary=sys.argv[1], stop_timeout=600)) as run:
        for event in run:
            print(event.kind, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.fixture
def survivors(tmp_path: Path) -> Iterator[Survivors]:
    """An oracle for what is left of runs in `tmp_path`; after the test nothing may be."""
    found = Survivors(tmp_path)
    try:
        yield found
        assert found.soon() == []
    finally:
        found.kill()


@pytest.fixture
def config(tmp_path: Path, survivors: Survivors) -> Callable[..., CodexConfig]:
    """A function that returns the configuration of an agent with these steps."""

    def make(*steps: Step) -> CodexConfig:
        return CodexConfig(binary=write_agent(tmp_path / "bin", steps), default_working_dir=str(tmp_path))

    return make


@pytest.mark.rule("P7")
def test_a_run_returns_the_completion_that_collect_returns(config: Callable[..., CodexConfig]) -> None:
    good = config(*GOOD)
    assert sync.run("x", config=good) == trio.run(lambda: codex_adapter.collect(RunRequest(prompt="x"), config=good))


@pytest.mark.rule("P7", "D1")
def test_the_events_are_those_of_a_run_in_trio(config: Callable[..., CodexConfig]) -> None:
    good = config(*GOOD)

    async def in_trio() -> list[Event]:
        async with codex_adapter.open_run(RunRequest(prompt="x"), config=good) as run:
            return [event async for event in run.events]

    with sync.open_run(RunRequest(prompt="x"), config=good) as run:
        events = list(run)
        assert list(run) == []
        assert run.completion.final_text == "Message 19."
        assert run.completion is run.completion
        assert run.session_id == run.completion.session_id
        assert run.containment in {"cgroup", "pid_namespace", "guard", "process_group"}
    assert events == trio.run(in_trio)


@pytest.mark.rule("P7", "D3")
def test_a_loop_can_be_left_and_resumed_and_the_rest_dropped(config: Callable[..., CodexConfig]) -> None:
    with sync.open_run("x", config=config(*GOOD)) as run:
        for event in run:
            if event.kind == "text_output":
                break
        assert [event.text for event, _ in zip(run, range(2), strict=False)] == ["Message 1.", "Message 2."]
        assert run.completion.turn == "completed"
        assert list(run) == []


@pytest.mark.rule("P7", "D3")
def test_a_block_that_reads_nothing_waits_for_the_end(config: Callable[..., CodexConfig]) -> None:
    with sync.open_run("x", config=config(*GOOD)) as run:
        pass
    assert run.completion.turn == "completed"


@pytest.mark.rule("P7", "D4")
def test_a_slow_consumer_holds_the_agent_and_one_batch(config: Callable[..., CodexConfig]) -> None:
    with sync.open_run("x", config=config(*FLOOD)) as run:
        waiting = []
        for _, number in zip(run, range(5_000), strict=False):
            if number % 100 == 0:
                until(lambda: not run._batches.empty())
                waiting.append(run._batches.qsize())
        run.cancel()
        assert set(waiting) == {1}
        with pytest.raises(RunCancelled):
            _ = run.completion


@pytest.mark.rule("P7", "K3", "F5")
@pytest.mark.parametrize("stop", [sync.Run.cancel, sync.Run.kill])
def test_another_thread_cancels_a_run(config: Callable[..., CodexConfig], stop: Callable[[sync.Run], None]) -> None:
    begun = threading.Event()
    with sync.open_run("x", config=config(*HANGING)) as run:

        def press() -> None:
            begun.wait()
            stop(run)

        button = threading.Thread(target=press)
        button.start()
        for _ in run:
            begun.set()
        button.join()
        for _ in range(2):
            with pytest.raises(RunCancelled):
                _ = run.completion


@pytest.mark.rule("P7", "K5")
def test_an_error_in_the_block_ends_the_run(config: Callable[..., CodexConfig], survivors: Survivors) -> None:
    def fail() -> None:
        with sync.open_run("x", config=config(*HANGING)) as run:
            next(iter(run))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert survivors.now() == []
    assert "codex_adapter.sync" not in {thread.name for thread in threading.enumerate() if thread.is_alive()}


@pytest.mark.rule("P7", "Q2")
def test_refusals_are_raised_on_entering(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError):
        sync.run("")
    with pytest.raises(SpawnError):
        sync.run("x", config=CodexConfig(binary=str(tmp_path / "missing")))


@pytest.mark.rule("P7", "K5")
@pytest.mark.parametrize("steps", [HANGING, FLOOD], ids=["hanging", "flooding"])
def test_keyboard_interrupt_ends_the_run(tmp_path: Path, survivors: Survivors, steps: tuple[Step, ...]) -> None:
    with _script(write_agent(tmp_path / "bin", steps), tmp_path, survivors) as script:
        script.send_signal(signal.SIGINT)
        _check_interrupted(script, survivors)


@pytest.mark.rule("P7", "K5")
def test_a_second_keyboard_interrupt_kills_an_agent_that_does_not_end(tmp_path: Path, survivors: Survivors) -> None:
    agent = tmp_path / "codex"
    agent.write_text(STUBBORN)
    agent.chmod(0o755)
    with _script(str(agent), tmp_path, survivors) as script:
        script.send_signal(signal.SIGINT)
        until((tmp_path / "asked").exists)
        assert script.poll() is None
        script.send_signal(signal.SIGINT)
        _check_interrupted(script, survivors)


@contextmanager
def _script(agent: str, directory: Path, survivors: Survivors) -> Iterator[subprocess.Popen[bytes]]:
    """A script that runs this agent, after its first event."""
    words = [sys.executable, "-c", INTERRUPTED, agent]
    env = os.environ | survivors.env
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=directory, env=env, bufsize=0
    ) as script:
        watch = threading.Timer(SOON, script.kill)
        watch.start()
        assert script.stdout is not None
        assert script.stdout.readline() == b"status\n"
        yield script
        watch.cancel()


def _check_interrupted(script: subprocess.Popen[bytes], survivors: Survivors) -> None:
    said, complaint = script.communicate()
    assert survivors.soon(0.0) == []
    assert complaint == b""
    assert said.endswith(b"interrupted\n")


@pytest.mark.rule("P7")
def test_it_works_in_a_thread_and_in_many_at_once(config: Callable[..., CodexConfig]) -> None:
    good, turns = config(*GOOD), []
    threads = [threading.Thread(target=lambda: turns.append(sync.run("x", config=good).turn)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert turns == ["completed"] * 4


@pytest.mark.rule("P7")
@pytest.mark.filterwarnings("error")
def test_it_works_while_asyncio_runs_in_the_thread(config: Callable[..., CodexConfig]) -> None:
    good = config(*GOOD)

    async def cell() -> list[object]:  # noqa: ASYNC124 - as a cell of a notebook is
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: None)
        with sync.open_run("x", config=good) as run:
            kinds = [event.kind for event in run]
        return [len(kinds), sync.run("x", config=good).turn]

    assert asyncio.run(cell()) == [23, "completed"]


@pytest.mark.rule("P7")
async def test_it_is_refused_where_trio_runs_and_allowed_in_a_thread_of_it(config: Callable[..., CodexConfig]) -> None:
    with pytest.raises(RuntimeError, match=r"codex_adapter\.open_run"):
        sync.run("x")
    good = config(*GOOD)
    completion = await trio.to_thread.run_sync(lambda: sync.run("x", config=good))
    assert completion.turn == "completed"


async def _enter_open_run() -> None:
    async with codex_adapter.open_run(RunRequest(prompt="x")):
        pass


async def _enter_open_replay() -> None:
    async with codex_adapter.open_replay("recorded.jsonl"):
        pass


async def _enter_a_gateway() -> None:
    gateway = Gateway()
    gateway.register(CodexBackend())
    async with gateway.open_run("codex", RunRequest(prompt="x")):
        pass


async def _enter_a_daemon() -> None:
    async with open_daemon():
        pass


WAYS_IN: list[Callable[[], Awaitable[object]]] = [
    _enter_open_run,
    _enter_open_replay,
    _enter_a_gateway,
    _enter_a_daemon,
    lambda: codex_adapter.collect(RunRequest(prompt="x")),
    lambda: CodexBackend().check(RunRequest(prompt="x")),
    lambda: CodexBackend().installed(),
    lambda: CodexBackend().containment_level(),
]


async def _awaited(way_in: Callable[[], Awaitable[object]]) -> object:
    return await way_in()


@pytest.mark.rule("P8")
@rows("way_in", WAYS_IN)
def test_asyncio_is_refused_with_what_to_do(way_in: Callable[[], Awaitable[object]]) -> None:
    with pytest.raises(RuntimeError, match=r"under asyncio\. Call codex_adapter\.sync\.run.*trio\.run\(main\)"):
        asyncio.run(_awaited(way_in))


@pytest.mark.rule("P8")
@rows("way_in", WAYS_IN)
def test_a_coroutine_that_is_driven_by_hand_is_refused(way_in: Callable[[], Awaitable[object]]) -> None:
    with pytest.raises(RuntimeError, match=r"under another event loop\. Call codex_adapter\.sync\.run"):
        _awaited(way_in).send(None)
