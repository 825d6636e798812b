"""Test that killing takes bounded time and does not delay other runs."""

from __future__ import annotations

import threading
from collections.abc import Awaitable

import pytest
import trio
from trio.testing import MockClock

from codex_adapter.runtime.containment.kill_all import kill_until_none_is_found

pytestmark = pytest.mark.rule("K4")


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.fault(
    "timing", "The search for a run's processes is slow or never ends", "The end of the run and the other runs continue"
)
async def test_killing_ends_in_time_and_in_the_background(clock: MockClock, hangs: bool) -> None:
    done, calls = threading.Event(), 0

    def kill() -> bool:
        nonlocal calls
        calls += 1
        # The event loop continues meanwhile, or this would never return.
        trio.from_thread.run_sync(clock.jump, 1.0 if hangs else 0.4)
        if hangs:
            done.wait()
        return True

    try:
        assert not await kill_until_none_is_found(kill)
    finally:
        done.set()
    assert calls <= 3, "a second has passed by then"


async def test_killing_ends_when_nothing_is_found_any_more() -> None:
    found = iter([True, True, False, True])
    assert await kill_until_none_is_found(lambda: next(found))
    assert list(found) == [True]


@pytest.mark.fault(
    "resources",
    "No thread is available when the adapter ends a run",
    "It searches for the run's processes without a thread",
)
async def test_killing_does_without_a_thread_where_none_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Awaitable[None]:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("trio.to_thread.run_sync", refuse)
    found = iter([True, False, True])
    assert await kill_until_none_is_found(lambda: next(found))
    assert list(found) == [True]
