"""Test that a file system that does not respond delays only its own runs, for a bounded time (K7, E6)."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from codex_adapter import BackendError, CodexBackend, CodexConfig, RunRequest, RunTimedOut
from codex_adapter.file_systems import Inquiry, inquire
from codex_adapter.testing import Hang, PrintJson, ReadPrompt, write_agent
from codex_adapter.testing.thread_lines import thread_started, turn_completed

from ..cli.command import Cli, until_listening
from ..daemon.workshop import Workshop
from .hung_file_system import HungFileSystem, hung_file_system

pytestmark = pytest.mark.rule("K7")

TURN = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_completed()))
WIDE = pytest.mark.attack
GRACE = 3.0
"""Seconds beyond a limit; the machine may be busy."""


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[HungFileSystem]:
    """A file system with a directory `work`, that answers until it is told not to."""
    with hung_file_system(tmp_path / "mount") as mounted:
        mounted.add("work")
        yield mounted


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Commands in a healthy directory."""
    return Cli(tmp_path)


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    """Daemons in a healthy directory."""
    place = Workshop(tmp_path)
    try:
        yield place
    except BaseException:
        place.abandon()
        raise
    place.finish()


@pytest.mark.rule("K1", "E1")
@pytest.mark.fault("environment", "The working directory's file system does not respond", "The time limit ends the run")
@pytest.mark.parametrize("operation", ["getattr", *(pytest.param(name, marks=WIDE) for name in ("lookup", "access"))])
def test_the_time_limit_of_a_run_counts_its_checks(cli: Cli, dead: HungFileSystem, operation: str) -> None:
    dead.hang(operation)
    begun = time.monotonic()
    words = ("--timeout", "1", "--working-dir", f"{dead.path}/work", "hi")
    done = cli.run("run", "--codex", cli.agent(*TURN), *words)
    assert time.monotonic() - begun < 1 + GRACE
    assert done.status == 124
    assert done.completion["error"]["message"] == "codex backend error: timeout (details redacted when unsafe)"
    assert done.complaint.startswith("The working directory did not answer")
    assert str(dead.path) not in done.complaint


@pytest.mark.parametrize("role", ["working directory", "CODEX_HOME directory", "codex binary", "temporary directory"])
async def test_a_check_without_an_answer_is_given_up(
    tmp_path: Path, dead: HungFileSystem, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_adapter.file_systems.inquire.__kwdefaults__", {"seconds": 0.5})
    agent = write_agent(tmp_path / "bin", TURN)
    place, dead_agent = str(dead.path / "work"), dead.add("codex", b"#!/bin/sh\n")
    config = CodexConfig(binary=dead_agent if role == "codex binary" else agent)
    request = RunRequest(prompt="hi", working_dir=str(tmp_path))
    if role == "working directory":
        request = RunRequest(prompt="hi", working_dir=place)
    elif role == "CODEX_HOME directory":
        config = CodexConfig(binary=agent, codex_home=place)
    elif role == "temporary directory":
        monkeypatch.setattr("tempfile.tempdir", place)
        monkeypatch.setenv("TMPDIR", place)
        schema = {"backend.codex.output_schema": {"type": "object"}}
        request = RunRequest(prompt="hi", working_dir=str(tmp_path), extensions=schema)
    dead.hang()
    with trio.fail_after(0.5 + GRACE), pytest.raises(BackendError) as caught:
        async with CodexBackend(config).open_run(request):
            pytest.fail("the run was started")
    assert caught.value.failure == "io"
    assert caught.value.advice is not None
    assert caught.value.advice.startswith(f"The {role} did not answer within 0.5 s.")


async def test_a_binary_that_can_be_found_and_not_read_is_given_up(tmp_path: Path, dead: HungFileSystem) -> None:
    binary = dead.add("codex", b"#!/bin/sh\n")
    for operation in ("open", "read"):
        dead.hang(operation)
        with trio.fail_after(2 + GRACE), pytest.raises(RunTimedOut) as caught:
            async with CodexBackend(CodexConfig(binary=binary)).open_run(
                RunRequest(prompt="hi", working_dir=str(tmp_path), timeout=1.0)
            ):
                pytest.fail("the run was started")
        assert "codex binary" in (caught.value.advice or "")


async def _until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(20):
        while not condition():  # noqa: ASYNC110 - it becomes so in another process
            await trio.sleep(0.01)


async def _open(backend: CodexBackend, place: str) -> None:
    async with backend.open_run(RunRequest(prompt="hi", working_dir=place)):
        pytest.fail("the run was started")


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.attack)])
async def test_dead_runs_cost_the_others_nothing(tmp_path: Path, dead: HungFileSystem, count: int) -> None:
    backend = CodexBackend(CodexConfig(binary=write_agent(tmp_path / "bin", TURN)))
    # By a link, as a mount is often reached, and by as many paths as runs.
    (tmp_path / "link").symlink_to(dead.path)
    places = [dead.add(f"place{n}") for n in range(count)]
    places = [place.replace(str(dead.path), str(tmp_path / "link")) for place in places]

    async def started() -> float:
        begun = trio.current_time()
        with trio.fail_after(GRACE):
            async with backend.open_run(RunRequest(prompt="hi", working_dir=str(tmp_path))) as run:
                took = trio.current_time() - begun
                await run.events.aclose()
                await run.wait_completed()
        return took

    before = min([await started() for _ in range(5)])
    dead.hang()
    for cancelled in (True, False):
        async with trio.open_nursery() as nursery:
            for place in places:
                nursery.start_soon(_open, backend, place)
            await _until(lambda: dead.unanswered >= 8)
            with trio.fail_after(2 * GRACE):
                after = min([await started() for _ in range(5)])
            print(f"\n{count} dead runs, cancelled: {cancelled}: {before:.4f} s before, {after:.4f} s after")
            assert after < 3 * before + 0.1
            assert dead.unanswered <= 48
            if cancelled:
                nursery.cancel_scope.cancel()
            else:
                dead.answer()
                nursery.cancel_scope.cancel()


def _look(inquiry: Inquiry, path: str) -> bool:
    inquiry.at("place", path)
    return Path(path).is_dir()


async def test_those_that_waited_without_a_thread_get_their_answer(tmp_path: Path, dead: HungFileSystem) -> None:
    places = [dead.add(f"place{n}") for n in range(200)]
    dead.hang()
    found: list[bool] = []

    async def ask(place: str) -> None:
        found.append(await inquire(_look, place))

    async with trio.open_nursery() as nursery:
        for place in places:
            nursery.start_soon(ask, place)
        await trio.sleep(1)  # until the others wait without a thread
        assert 8 <= dead.unanswered <= 48
        dead.answer()
        with trio.fail_after(GRACE):
            await _until(lambda: len(found) == 200)
    assert found == [True] * 200


@pytest.mark.rule("J8", "J10", "K3")
@pytest.mark.fault("daemon", "The file system of a run does not respond", "Cancel and shutdown end the run at once")
def test_a_dead_run_can_be_cancelled_and_the_daemon_shut_down(workshop: Workshop, dead: HungFileSystem) -> None:
    dead.hang()
    daemon = workshop.daemon("--max-runs", "2")
    begun = time.monotonic()
    for run_id in "abc":  # the last one is checked while it waits in the queue
        daemon.say(
            {
                "jsonrpc": "2.0",
                "id": run_id,
                "method": "run/start",
                "params": {
                    "runId": run_id,
                    "agentKind": "codex",
                    "request": {"prompt": "hi", "working_dir": f"{dead.path}/work"},
                },
            }
        )
    daemon.say({"jsonrpc": "2.0", "id": 8, "method": "run/cancel", "params": {"runId": "a"}})
    daemon.receive_until(lambda: any(it.get("method") == "run/completed" for it in daemon.told))
    daemon.say({"jsonrpc": "2.0", "id": 9, "method": "shutdown", "params": {"mode": "cancel"}})
    daemon.receive_until(lambda: any(it.get("id") == 9 for it in daemon.told))
    completed = [it["params"]["completion"] for it in daemon.told if it.get("method") == "run/completed"]
    assert [it["error"]["message"] for it in completed] == ["cancelled"] * 3
    assert time.monotonic() - begun < GRACE


@pytest.mark.rule("J11", "E6")
def test_a_signal_ends_a_daemon_with_a_dead_run(workshop: Workshop, dead: HungFileSystem) -> None:
    dead.hang()
    daemon = workshop.daemon()
    request = {"prompt": "hi", "working_dir": f"{dead.path}/work"}
    params = {"runId": "a", "agentKind": "codex", "request": request}
    daemon.say({"jsonrpc": "2.0", "id": 1, "method": "run/start", "params": params})
    daemon.receive_until(lambda: dead.unanswered)
    daemon.kill(signal.SIGTERM)
    begun = time.monotonic()
    daemon.wait()
    assert time.monotonic() - begun < GRACE


@pytest.mark.rule("J12", "J3")
@pytest.mark.fault(
    "daemon", "The journal's file system stops responding", "Its runs can be cancelled, and all other work continues"
)
@pytest.mark.parametrize(
    "operation", ["fsync", *(pytest.param(name, marks=WIDE) for name in ("lookup", "write", "flush"))]
)
def test_a_journal_that_stops_answering_holds_up_only_its_runs(
    workshop: Workshop, dead: HungFileSystem, operation: str
) -> None:
    daemon = workshop.daemon("--journal", f"{dead.path}/work")
    request = {"prompt": "hi", "env": workshop.agent("hanging", *TURN[:2], Hang())}

    def start(run_id: str) -> None:
        params = {"runId": run_id, "agentKind": "codex", "request": request}
        daemon.say({"jsonrpc": "2.0", "id": run_id, "method": "run/start", "params": params})

    start("a")
    daemon.receive_until(lambda: any(it.get("method") == "run/event" for it in daemon.told))
    dead.hang(operation)
    start("b")
    daemon.receive_until(lambda: dead.unanswered or operation == "flush")
    daemon.say({"jsonrpc": "2.0", "id": 7, "method": "run/list"})
    daemon.receive_until(lambda: any(it.get("id") == 7 for it in daemon.told))
    daemon.say({"jsonrpc": "2.0", "id": 8, "method": "run/cancel", "params": {"runId": "a"}})
    daemon.receive_until(lambda: any(it.get("method") == "run/completed" for it in daemon.told))
    daemon.say({"jsonrpc": "2.0", "id": 9, "method": "shutdown", "params": {"mode": "cancel"}})
    daemon.receive_until(lambda: any(it.get("id") == 9 for it in daemon.told))


COMMANDS = {
    "run": ("run", "--codex", "{agent}", "--working-dir", "{dead}/work", "hi"),
    "serve": ("serve", "--journal", "{dead}/work"),
    "workspace": ("operations", "--workspace", "{dead}/work"),
    "state": ("operations", "--workspace", "{here}", "--state", "{dead}/work/state.db"),
    "mailbox": ("mailbox", "start", "--mailbox", "{dead}/work", "--workspace", "{here}", "task"),
    "replay": ("replay", "{dead}/records.jsonl"),
    "view": ("view", "{dead}/records.jsonl"),
    "turn": (
        *("turn", "--space", "space:path:{here}", "--asp-home", "{here}/asp"),
        *("--codex", "{agent}", "--cwd", "{dead}/work", "hi"),
    ),
    "space": ("space", "check", "{dead}/work"),
    "doctor": ("doctor", "--codex", "{dead}/records.jsonl"),
}
IN_THE_GATE = ("run", "serve", "state")


@pytest.mark.rule("E6", "E4")
@pytest.mark.fault(
    "signals", "A command receives a signal while a file system does not respond", "The command exits within seconds"
)
@pytest.mark.parametrize(
    "command", [name if name in IN_THE_GATE else pytest.param(name, marks=pytest.mark.attack) for name in COMMANDS]
)
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.attack)])
def test_a_signal_ends_every_command(cli: Cli, dead: HungFileSystem, command: str, number: signal.Signals) -> None:
    dead.add("records.jsonl", b"{}\n")
    dead.hang()
    names = {"agent": cli.agent(*TURN), "dead": dead.path, "here": cli.directory}
    with cli.start(*(word.format(**names) for word in COMMANDS[command])) as process:
        until_listening(process)
        deadline = time.monotonic() + 20
        while not dead.unanswered and time.monotonic() < deadline:
            time.sleep(0.01)
        assert dead.unanswered, "it never asks the file system"
        begun = time.monotonic()
        process.send_signal(number)
        try:
            status = process.wait(5 + GRACE)
        finally:
            process.kill()
    assert time.monotonic() - begun < 5 + GRACE
    assert status == 128 + number or (command == "serve" and status == 0)
