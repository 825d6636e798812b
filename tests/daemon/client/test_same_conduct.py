"""Test that runs behave alike in this process and in a daemon, whatever the consumer does."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from codex_adapter import AdapterError, BackendError, CodexConfig, Completion, RunCancelled, RunHandle, RunRequest
from codex_adapter.testing import (
    ExitOnSignal,
    Hang,
    IgnoreSignals,
    PrintJson,
    ReadPrompt,
    Repeat,
    StartDescendant,
    Step,
    WaitFor,
    WriteFile,
    demo_script,
    write_agent,
)
from codex_adapter.testing.thread_lines import THREAD_ID, agent_message, thread_started, turn_completed, turn_started

from ...cli.slow_clock import skipping_pauses
from ...runtime.survivors import Survivors
from ...waiting import SOON
from .transports import LIMIT, TRANSPORTS, Transport, described, let_limits_pass

BEGUN: Final[tuple[Step, ...]] = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()))
MESSAGE: Final = '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"m"}}'
ENDED: Final = (PrintJson(agent_message("item_0", "done")), PrintJson(turn_completed()))
HELD: Final = (*BEGUN, WaitFor("go"), *ENDED)
FLOOD: Final = (*BEGUN, Repeat(MESSAGE, count=3_000), *ENDED, WriteFile("printed"))
STUBBORN: Final = (IgnoreSignals(("SIGINT", "SIGTERM")), StartDescendant("pid", session=True), *BEGUN, Hang())


def agent(tmp_path: Path, *steps: Step) -> CodexConfig:
    return CodexConfig(binary=write_agent(tmp_path / "bin", steps))


def asked(tmp_path: Path, **fields: Any) -> RunRequest:
    return RunRequest(prompt="x", working_dir=str(tmp_path), **fields)


async def begun(run: RunHandle) -> None:
    while run.session_id is None:
        await run.events.receive()


@pytest.mark.rule("J15", "K3", "F5", "F6")
@pytest.mark.parametrize("end", ["cancel", "kill"])
@pytest.mark.parametrize("when", ["at once", "once it has begun", "while its events are awaited", "after its end"])
async def test_a_run_can_be_ended_at_any_time(tmp_path: Path, transport: Transport, end: str, when: str) -> None:
    steps = demo_script() if when == "after its end" else (*BEGUN, Hang())
    with trio.fail_after(SOON):
        async with transport(agent(tmp_path, *steps)) as backend, backend.open_run(asked(tmp_path)) as run:
            async with trio.open_nursery() as nursery:
                if when == "once it has begun":
                    await begun(run)
                elif when == "while its events are awaited":
                    await run.events.receive_batch()
                    nursery.start_soon(_drain, run)
                    await trio.testing.wait_all_tasks_blocked()
                elif when == "after its end":
                    await _drain(run)
                getattr(run, end)()
                getattr(run, end)()
            with pytest.raises(trio.EndOfChannel):
                await run.events.receive()
            with pytest.raises(RunCancelled) as raised:
                await run.wait_completed()
            expected = RunCancelled("cancelled")
            expected.session_id = run.session_id
            assert described(raised.value) == described(expected)


@pytest.mark.rule("J15", "F5", "F6")
async def test_a_completion_that_was_given_out_stays(tmp_path: Path, transport: Transport) -> None:
    async with transport(agent(tmp_path, *demo_script())) as backend, backend.open_run(asked(tmp_path)) as run:
        await run.events.aclose()
        completion = await run.wait_completed()
        run.cancel()
        run.kill()
        assert await run.wait_completed() is completion
        assert run.session_id == completion.session_id == THREAD_ID


@pytest.mark.rule("J15", "K4")
@pytest.mark.parametrize("end", ["kill", "leave"])
async def test_nothing_of_a_stubborn_run_is_left_when_its_block_is(
    tmp_path: Path, transport: Transport, end: str, survivors: Survivors
) -> None:
    with trio.fail_after(SOON):
        async with transport(agent(tmp_path, *STUBBORN)) as backend:
            with pytest.raises(ZeroDivisionError):  # noqa: PT012 - the block is what it leaves
                async with backend.open_run(asked(tmp_path)) as run:
                    await begun(run)
                    assert survivors.now()
                    if end == "kill":
                        run.kill()
                    raise ZeroDivisionError
            assert survivors.now() == []


@pytest.mark.rule("J15", "K5")
async def test_what_the_consumer_raises_leaves_all_blocks_as_it_is(tmp_path: Path, transport: Transport) -> None:
    mine = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError) as raised:  # noqa: PT012 - the block is what it leaves
        async with transport(agent(tmp_path, *BEGUN, Hang())) as backend, backend.open_run(asked(tmp_path)) as run:
            await begun(run)
            raise mine
    assert raised.value is mine
    assert mine.__context__ is None


@pytest.mark.rule("J15", "D3", "K5")
async def test_a_block_that_is_left_with_events_unread_waits_for_the_end_of_the_run(
    tmp_path: Path, transport: Transport
) -> None:
    with trio.fail_after(SOON):
        async with transport(agent(tmp_path, *FLOOD)) as backend:
            async with backend.open_run(asked(tmp_path)) as run:
                await run.events.receive()
            assert (tmp_path / "printed").exists()
            assert (await run.wait_completed()).final_text == "done"


@pytest.mark.rule("J15", "D3", "M5")
@pytest.mark.parametrize("after", [0, 1, 700])
async def test_events_can_be_closed_at_any_time(tmp_path: Path, transport: Transport, after: int) -> None:
    with trio.fail_after(SOON):
        async with transport(agent(tmp_path, *FLOOD)) as backend, backend.open_run(asked(tmp_path)) as run:
            for _ in range(after):
                await run.events.receive()
            await run.events.aclose()
            with pytest.raises(trio.ClosedResourceError):
                await run.events.receive()
            assert (await run.wait_completed()).final_text == "done"
            assert run.session_id == THREAD_ID


@pytest.mark.rule("J15", "M5")
async def test_the_session_is_known_also_when_a_run_fails_whose_events_were_closed(
    tmp_path: Path, timed_transport: Transport, clock: MockClock
) -> None:
    with trio.fail_after(LIMIT + SOON):
        config = agent(tmp_path, *BEGUN, WriteFile("begun"), Hang())
        async with timed_transport(config) as backend, backend.open_run(asked(tmp_path, timeout=LIMIT)) as run:
            await run.events.aclose()
            while not (tmp_path / "begun").exists():
                await trio.testing.wait_all_tasks_blocked(0.01)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(let_limits_pass, clock)
                with pytest.raises(BackendError):
                    await run.wait_completed()
                nursery.cancel_scope.cancel()
            assert run.session_id == THREAD_ID


@pytest.mark.rule("J15", "F1", "F5")
async def test_all_who_wait_are_given_the_same_completion(tmp_path: Path, transport: Transport) -> None:
    given: list[Completion] = []

    async def wait(run: RunHandle) -> None:
        given.append(await run.wait_completed())

    with trio.fail_after(SOON):
        async with transport(agent(tmp_path, *demo_script())) as backend, backend.open_run(asked(tmp_path)) as run:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait, run)
                nursery.start_soon(wait, run)
                await trio.testing.wait_all_tasks_blocked()
                assert given == []
                await _drain(run)
            assert given[0] is given[1] is await run.wait_completed()


@pytest.mark.rule("J15", "F5")
async def test_all_who_wait_are_given_the_same_error(tmp_path: Path, transport: Transport) -> None:
    raised: list[AdapterError] = []

    async def wait(run: RunHandle) -> None:
        try:
            await run.wait_completed()
        except AdapterError as error:
            raised.append(error)

    with trio.fail_after(SOON):
        config = agent(tmp_path, *BEGUN, Hang())
        async with transport(config) as backend, backend.open_run(asked(tmp_path, timeout=0.5)) as run:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait, run)
                nursery.start_soon(wait, run)
                await _drain(run)
            await wait(run)
    assert raised[0] is raised[1] is raised[2]


@pytest.mark.rule("J15", "D1")
async def test_events_are_live_and_for_one_consumer(tmp_path: Path, transport: Transport) -> None:
    with trio.fail_after(SOON):
        async with transport(agent(tmp_path, *HELD)) as backend, backend.open_run(asked(tmp_path)) as run:
            await begun(run)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_drain, run)
                await trio.testing.wait_all_tasks_blocked()
                with pytest.raises(trio.BusyResourceError):
                    await run.events.receive()
                (tmp_path / "go").touch()
            assert (await run.wait_completed()).final_text == "done"


@pytest.mark.rule("J15", "D2")
async def test_batches_hold_all_events_in_order(tmp_path: Path, transport: Transport) -> None:
    sequence: list[int] = []
    with trio.fail_after(SOON):
        async with transport(agent(tmp_path, *FLOOD)) as backend, backend.open_run(asked(tmp_path)) as run:
            with pytest.raises(trio.EndOfChannel):  # noqa: PT012 - whichever batch is the last
                while batch := await run.events.receive_batch():
                    sequence += [event.seq for event in batch]
            assert (await run.wait_completed()).final_text == "done"
    assert sequence == list(range(len(sequence)))
    assert len(sequence) > 3_000


@pytest.mark.rule("J15", "D4", "K1", "K2")
async def test_a_slow_consumer_costs_the_run_no_time(
    tmp_path: Path, timed_transport: Transport, clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day passes while its consumer does not read, in this process or in the daemon."""
    skipped = tmp_path / "skipped"
    monkeypatch.setenv("SKIP", str(skipped))
    config = agent(tmp_path, *FLOOD)
    async with timed_transport(config) as backend, backend.open_run(asked(tmp_path, timeout=LIMIT)) as run:
        with skipping_pauses(clock, skipped):
            while not skipped.exists():
                await trio.testing.wait_all_tasks_blocked(0.01)
            await _drain(run)
            assert (await run.wait_completed()).final_text == "done"


@pytest.mark.rule("J15", "K5")
async def test_a_scope_that_is_cancelled_in_the_block_ends_the_run_and_no_more(
    tmp_path: Path, transport: Transport, survivors: Survivors
) -> None:
    with trio.fail_after(SOON):
        async with transport(agent(tmp_path, *BEGUN, Hang())) as backend:
            with trio.CancelScope() as scope:
                async with backend.open_run(asked(tmp_path)) as run:
                    await begun(run)
                    scope.cancel()
                    await run.wait_completed()
            assert scope.cancelled_caught
            assert survivors.now() == []
            async with backend.open_run(asked(tmp_path)) as other:
                await begun(other)
                other.kill()


@pytest.mark.rule("J15", "K5")
async def test_a_scope_that_is_cancelled_around_everything_ends_everything(
    tmp_path: Path, transport: Transport, survivors: Survivors
) -> None:
    with trio.fail_after(SOON):
        with trio.CancelScope() as scope:
            async with transport(agent(tmp_path, ExitOnSignal("SIGINT"), *BEGUN, Hang())) as backend:
                async with backend.open_run(asked(tmp_path)) as run:
                    await begun(run)
                    scope.cancel()
                    await run.wait_completed()
        assert scope.cancelled_caught
        assert survivors.now() == []


@pytest.mark.rule("J15", "N1", "N3")
@pytest.mark.parametrize("demanded", [None, "cgroup", "pid_namespace"])
async def test_runs_are_held_alike_or_refused_alike(tmp_path: Path, demanded: str | None) -> None:
    held: list[Any] = []
    binary = write_agent(tmp_path / "bin", demo_script())
    for open_backend in TRANSPORTS.values():
        async with open_backend(CodexConfig(binary=binary, containment=demanded)) as backend:
            try:
                async with backend.open_run(asked(tmp_path)) as run:
                    held.append(run.containment)
            except AdapterError as error:
                held.append(described(error))
    assert held[0] == held[1]
    assert held[0] is not None


async def _drain(run: RunHandle) -> None:
    async for _ in run.events:
        pass
