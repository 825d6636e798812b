"""Test many runs of one daemon, and their end when the daemon dies or the block ends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import trio
import trio.testing

from codex_adapter import AdapterError, BackendError, Gateway, RunCancelled, RunHandle, RunRequest, UnknownBackendError
from codex_adapter.agents.codex.extensions import CAPABILITIES
from codex_adapter.daemon.client import DaemonBackend, open_daemon
from codex_adapter.events import ToolCall
from codex_adapter.runtime.backend import Backend
from codex_adapter.testing import Hang, PrintJson, ReadPrompt, Step, demo_script, write_agent
from codex_adapter.testing.thread_lines import (
    THREAD_ID,
    command_completed,
    command_started,
    thread_started,
    turn_started,
)

from ...runtime.survivors import Survivors
from ...waiting import SOON
from .transports import children, kill, see

BEGUN: Final[tuple[Step, ...]] = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()))
HANGING: Final = (*BEGUN, Hang())
GONE: Final = "codex backend error: other (details redacted when unsafe)"


def asked(tmp_path: Path, **fields: Any) -> RunRequest:
    return RunRequest(prompt="x", working_dir=str(tmp_path), **fields)


async def begun(run: RunHandle) -> None:
    while run.session_id is None:
        await run.events.receive()


@pytest.mark.rule("J15", "J8")
@pytest.mark.parametrize("count", [40, pytest.param(100, marks=pytest.mark.nightly)])
async def test_many_runs_at_once_all_complete(tmp_path: Path, count: int) -> None:
    outcomes: list[Any] = []

    async def one(backend: Backend) -> None:
        seen = await see(backend, asked(tmp_path))
        outcomes.append((len(seen.events), seen.outcome.status.code, seen.session_id))

    with trio.fail_after(4 * SOON):
        async with open_daemon("--codex", write_agent(tmp_path / "bin", demo_script()), "--max-runs", "8") as backend:
            async with trio.open_nursery() as nursery:
                for _ in range(count):
                    nursery.start_soon(one, backend)
    assert len(outcomes) == count
    assert set(outcomes) == {(outcomes[0][0], 0, THREAD_ID)}


@pytest.mark.rule("J15", "F4", "M9", "N2")
@pytest.mark.fault(
    "consumer",
    "A signal kills the daemon of a client",
    "All its runs and requests end with an error, and no process survives",
)
async def test_a_daemon_that_is_killed_ends_all_runs_and_requests(tmp_path: Path, survivors: Survivors) -> None:
    errors: list[BaseException] = []
    before = children()

    async def fails(run: RunHandle) -> None:
        with pytest.raises(BackendError) as raised:
            await run.wait_completed()
        errors.append(raised.value)

    async def is_refused(backend: Backend) -> None:
        with pytest.raises(BackendError) as raised:
            await backend.open_run(asked(tmp_path)).__aenter__()
        errors.append(raised.value)

    tools = (PrintJson(command_started(f"item_{n}", "make")) for n in (0, 1))
    binary = write_agent(tmp_path / "bin", (*BEGUN, *tools, PrintJson(command_completed("item_0", "make")), Hang()))
    with trio.fail_after(SOON):
        async with open_daemon("--codex", binary, "--max-runs", "2") as backend:
            (daemon,) = [pid for pid in children() if pid not in before]
            async with (
                backend.open_run(asked(tmp_path)) as read,
                backend.open_run(asked(tmp_path)) as closed,
                backend.open_run(asked(tmp_path)) as waiting,
            ):
                while (await read.events.receive()).kind != "tool_result":
                    pass
                await closed.events.aclose()
                await waiting.events.aclose()
                async with trio.open_nursery() as nursery:
                    for run in (read, closed, waiting):
                        nursery.start_soon(fails, run)
                    nursery.start_soon(fails, closed)
                    await trio.testing.wait_all_tasks_blocked()
                    kill(daemon)
                    nursery.start_soon(is_refused, backend)
                    result, last = [event async for event in read.events]
            await is_refused(backend)
    assert isinstance(result.data, ToolCall)
    assert (result.data.tool.backend_item_id, result.data.tool.status) == ("item_1", "unknown")
    assert (last.seq, last.message) == (result.seq + 1, GONE)
    assert [str(error) for error in errors] == [GONE] * 6
    assert all(isinstance(error, BackendError) and error.advice for error in errors)
    assert survivors.soon() == []


@pytest.mark.rule("J15", "K4", "K5")
async def test_a_run_that_outlives_the_block_of_its_daemon_is_cancelled(tmp_path: Path, survivors: Survivors) -> None:
    """It is open in another task, which nobody tells that the daemon ends."""
    errors: list[AdapterError] = []

    async def outlive(backend: Backend, *, task_status: trio.TaskStatus[None]) -> None:  # noqa: ASYNC114
        async with backend.open_run(asked(tmp_path)) as run:
            await begun(run)
            task_status.started()
            try:
                await run.events.aclose()
                await run.wait_completed()
            except AdapterError as error:
                errors.append(error)

    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            async with open_daemon("--codex", write_agent(tmp_path / "bin", HANGING)) as backend:
                await nursery.start(outlive, backend)  # noqa: ASYNC111
            assert survivors.now() == []
    assert [type(error) for error in errors] == [RunCancelled]


@pytest.mark.rule("J15")
async def test_nothing_can_be_run_once_the_block_is_left(tmp_path: Path) -> None:
    async with open_daemon("--codex", write_agent(tmp_path / "bin", HANGING)) as backend:
        pass
    with trio.fail_after(SOON):
        with pytest.raises(BackendError, match="other"):
            await backend.open_run(asked(tmp_path)).__aenter__()


@pytest.mark.rule("J15")
async def test_the_daemon_is_in_a_session_of_its_own_so_that_no_terminal_interrupts_it() -> None:
    before = children()
    async with open_daemon():
        (daemon,) = [pid for pid in children() if pid not in before]
        assert os.getsid(daemon) == daemon


@pytest.mark.rule("J15", "P2")
async def test_nothing_in_the_working_directory_is_taken_for_a_part_of_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("trio", "msgspec", "json", "codex_adapter"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    with trio.fail_after(SOON):
        async with open_daemon("--codex", write_agent(tmp_path / "bin", demo_script())) as backend:
            assert (await see(backend, RunRequest(prompt="x"))).outcome.status.success


@pytest.mark.rule("J15", "G1", "G2", "G3")
async def test_a_daemon_is_a_backend_of_a_gateway(tmp_path: Path) -> None:
    gateway = Gateway()
    async with open_daemon("--codex", write_agent(tmp_path / "bin", demo_script())) as daemon:
        backend: Backend = daemon
        assert isinstance(daemon, DaemonBackend)
        gateway.register(backend)
        assert gateway.backends == {"codex": backend}
        assert backend.capabilities == CAPABILITIES
        await gateway.check("codex", asked(tmp_path))
        async with gateway.open_run("codex", asked(tmp_path)) as run:
            events: Sequence[object] = [event async for event in run.events]
            assert (await run.wait_completed()).status.success
        assert events
        with pytest.raises(UnknownBackendError):
            gateway.open_run("other", asked(tmp_path))


@pytest.mark.rule("J15", "J8", "F6")
async def test_a_run_that_waits_for_its_turn_can_be_cancelled_left_and_read(tmp_path: Path) -> None:
    binary = write_agent(tmp_path / "bin", HANGING)
    with trio.fail_after(SOON):
        async with open_daemon("--codex", binary, "--max-runs", "1") as backend:
            async with backend.open_run(asked(tmp_path)) as first:
                await begun(first)
                async with backend.open_run(asked(tmp_path)) as second:
                    second.cancel()
                    with pytest.raises(RunCancelled):
                        await second.wait_completed()
                with trio.move_on_after(0.2) as scope:
                    async with backend.open_run(asked(tmp_path)) as third:
                        await third.wait_completed()
                assert scope.cancelled_caught
                async with backend.open_run(asked(tmp_path)) as fourth:
                    first.kill()
                    await begun(fourth)
                    fourth.kill()


@pytest.mark.rule("J15", "J8", "S6", "Q5")
async def test_what_fails_when_its_turn_comes_is_the_completion(tmp_path: Path) -> None:
    binary = write_agent(tmp_path / "bin", HANGING)
    (tmp_path / "place").mkdir()
    with trio.fail_after(SOON):
        async with open_daemon("--codex", binary, "--max-runs", "1") as backend:
            async with backend.open_run(asked(tmp_path)) as first, backend.open_run(asked(tmp_path)) as second:
                async with backend.open_run(asked(tmp_path / "place")) as third:
                    (tmp_path / "place").rmdir()
                    Path(binary).unlink()
                    first.kill()
                    assert [event async for event in second.events] == []
                    with pytest.raises(BackendError, match="spawn") as raised:
                        await second.wait_completed()
                    assert raised.value.failure == "spawn"
                    await third.events.aclose()
                    with pytest.raises(AdapterError, match="working_dir"):
                        await third.wait_completed()
