"""Test that killing takes bounded time and does not delay other runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable

import pytest
import trio

from codex_adapter.runtime.containment.kill_all import kill_until_none_is_found

pytestmark = pytest.mark.rule("K4")


async def longest_pause() -> float:
    """The longest time in which the event loop did nothing else, until cancelled."""
    longest, last = 0.0, time.monotonic()
    try:
        while True:
            await trio.sleep(0.001)
            now = time.monotonic()
            longest, last = max(longest, now - last), now
    finally:
        PAUSES.append(longest)


PAUSES: list[float] = []


@pytest.mark.parametrize("seconds", [0.4, 60.0])
@pytest.mark.fault(
    "timing", "The search for a run's processes is slow or never ends", "The end of the run and the other runs continue"
)
async def test_killing_ends_in_time_and_in_the_background(seconds: float) -> None:
    done = threading.Event()

    def kill() -> bool:
        done.wait(seconds)
        return True

    begun = time.monotonic()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(longest_pause)
            assert not await kill_until_none_is_found(kill)
            nursery.cancel_scope.cancel()
    finally:
        done.set()
    assert time.monotonic() - begun < 1.5
    assert PAUSES.pop() < 0.3


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
