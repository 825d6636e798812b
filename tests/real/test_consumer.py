"""Test consumers of a real run that leave or read slowly: the agent completes its work."""

from __future__ import annotations

import pytest
import trio

from codex_adapter import Event, collect, open_run
from codex_adapter.testing import Reasoning, Shell, answer, script

from ..waiting import SOON
from .shapes import shape
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("D3")]

SLOW = 3.0
"""Seconds for which a slow consumer does nothing; longer than the time limits of its run."""


def _work(stage: Stage) -> list[Shell]:
    """Two commands; the first one says when it has begun and waits for a word."""
    stage.fifo("begun")
    stage.fifo("go")
    return [Shell("echo x > begun; read word < go; echo one > first"), Shell("echo two > second")]


async def _go(stage: Stage) -> None:
    await trio.to_thread.run_sync((stage.workspace / "go").write_text, "go\n", abandon_on_cancel=True)


@pytest.mark.rule("F1", "F2")
async def test_the_run_goes_to_its_natural_end_when_the_events_are_closed(stage: Stage) -> None:
    first, second = _work(stage)
    with stage.model(script(first, second, "Done.")):
        async with stage.running() as run:
            await stage.told(stage.workspace / "begun")
            await run.events.aclose()
            await _go(stage)
            with trio.fail_after(SOON):
                completion = await run.wait_completed()
    assert (completion.final_text, completion.status.success) == ("Done.", True)
    assert (stage.workspace / "first").exists()
    assert (stage.workspace / "second").exists()


@pytest.mark.rule("K5")
async def test_the_run_goes_to_its_natural_end_when_the_block_is_left(stage: Stage) -> None:
    first, second = _work(stage)
    with stage.model(script(first, second, "Done.")) as server:
        async with open_run(stage.request(), config=stage.config()) as run:
            await run.events.receive()
            await stage.told(stage.workspace / "begun")
            await _go(stage)
        stage.oracle.check()
        assert len(server.requests) == 3
    assert (stage.workspace / "second").exists()


@pytest.mark.rule("F1")
async def test_a_run_is_collected_without_its_events(stage: Stage) -> None:
    with stage.model(script(Shell("echo x > done"), "Done.")):
        completion = await collect(stage.request(), config=stage.config())
    assert completion.final_text == "Done."
    assert (stage.workspace / "done").exists()
    stage.oracle.check()


@pytest.mark.smoke
@pytest.mark.rule("D1", "F1")
async def test_events_are_there_before_the_cli_exits(stage: Stage) -> None:
    with stage.model(script(answer("Half way.", Shell("true")), answer("Done.", gate="go on"))) as server:
        async with stage.running() as run:
            seen: list[Event] = []
            while "agent_message: Half way." not in shape(seen):
                with trio.fail_after(SOON):
                    seen.append(await run.events.receive())
            assert stage.oracle.agent().pid > 0
            server.open_gate("go on")
            outcome = await stage.outcome(run)
    assert outcome.completion is not None
    assert outcome.completion.final_text == "Done."


@pytest.mark.rule("D4")
async def test_a_consumer_that_takes_its_time_loses_nothing_and_no_time_limit_passes(stage: Stage) -> None:
    stage.release.keeps_what_is_not_read()
    thoughts = [f"**Thought {number}** {'x' * 2000}" for number in range(300)]
    items = [Reasoning((thought,)) for thought in thoughts]
    with stage.model(script(answer(*items, Shell("true")), answer("Done.", delay=stage.release.pause))):
        async with stage.running(stage.request(timeout=SLOW - 0.5), idle_timeout=SLOW - 1) as run:
            seen = [await run.events.receive() for _ in range(5)]
            # time is the subject here: the clock of the run must stand still
            await trio.sleep(SLOW)
            outcome = await stage.outcome(run)
    told = [event.text for event in [*seen, *outcome.events] if event.kind == "text_output"]
    assert told == [*thoughts, "Done."]
    assert outcome.completion is not None
    assert outcome.completion.final_text == "Done."


@pytest.mark.rule("D4")
async def test_a_slow_run_does_not_hold_a_quick_one(stage: Stage) -> None:
    with stage.model(script(fallback=answer(*(Reasoning((f"**{n}** {'x' * 2000}",)) for n in range(200)), "Done."))):
        async with stage.running() as slow:
            await slow.events.receive()
            quick = await collect(stage.request(), config=stage.config())
            assert quick.final_text == "Done."
            await slow.events.aclose()
            assert (await slow.wait_completed()).status.success


@pytest.mark.rule("S5")
async def test_many_runs_at_once_do_not_see_each_other(stage: Stage) -> None:
    texts: dict[int, str | None] = {}

    async def one(number: int) -> None:
        (stage.workspace / str(number)).mkdir()
        request = stage.request(f"Prompt {number}.", env={"NUMBER": str(number)})
        async with open_run(request, config=stage.config()) as run:
            texts[number] = (await stage.outcome(run)).completion.final_text  # type: ignore[union-attr]

    with stage.model(script(fallback=answer("Done."))) as server:
        async with trio.open_nursery() as nursery:
            for number in range(6):
                nursery.start_soon(one, number)
        assert len(server.requests) == 6
    assert texts == dict.fromkeys(range(6), "Done.")
    stage.oracle.check()
