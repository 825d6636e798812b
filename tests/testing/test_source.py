"""Test that the scripted source follows its script."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from codex_adapter import BackendError, ExitStatus
from codex_adapter.testing.source import EXIT, ScriptedSource


@pytest.mark.rule("TK5")
async def test_bytes_come_in_order_and_at_their_times(autojump_clock: MockClock) -> None:
    source = ScriptedSource([b"a", 5.0, b"b"], status=ExitStatus(code=4))
    assert await source.receive_some() == b"a"
    assert await source.receive_some() == b"b"
    assert trio.current_time() == 5.0
    assert await source.receive_some() == b""
    assert await source.wait() == ExitStatus(code=4)


@pytest.mark.rule("TK5")
async def test_an_exit_may_come_before_the_end_of_the_output() -> None:
    source = ScriptedSource([EXIT, b"late"])
    assert await source.receive_some() == b"late"
    assert (await source.wait()).success


@pytest.mark.rule("TK5")
async def test_an_event_holds_the_script_until_it_is_set() -> None:
    event = trio.Event()
    source = ScriptedSource([event, b"a"])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.testing.wait_all_tasks_blocked)
        event.set()
        assert await source.receive_some() == b"a"


@pytest.mark.rule("TK5")
async def test_a_failure_in_the_script_is_raised() -> None:
    with pytest.raises(BackendError, match="broken"):
        await ScriptedSource([BackendError("io", "broken")]).receive_some()


@pytest.mark.rule("TK5")
async def test_a_stubborn_agent_takes_its_time_and_a_killed_one_none(autojump_clock: MockClock) -> None:
    stubborn = ScriptedSource([1000.0], stubborn=3.0)
    await stubborn.stop(b"end\n")
    assert trio.current_time() == 3.0
    assert stubborn.sent == b"end\n"
    killed = ScriptedSource([1000.0])
    killed.kill()
    assert await killed.receive_some() == b""
    assert (await killed.wait()).success
    assert killed.calls == ["kill"]


@pytest.mark.rule("TK5")
async def test_output_that_is_held_ends_when_it_is_closed() -> None:
    source = ScriptedSource([b"a"], held=True)
    assert await source.receive_some() == b"a"
    source.close_output()
    assert await source.receive_some() == b""
