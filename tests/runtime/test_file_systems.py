"""Test file system queries while the event loop is busy."""

from __future__ import annotations

import threading
import time

import pytest
import trio

from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry, inquire

pytestmark = pytest.mark.rule("K7")

SECONDS = 0.2


def keep_busy() -> None:
    """Keep the event loop for longer than an inquiry may take."""
    end = time.monotonic() + 2 * SECONDS
    while time.monotonic() < end:
        pass


async def test_an_answer_that_is_there_counts_though_the_event_loop_looks_late() -> None:
    token = trio.lowlevel.current_trio_token()

    def work(_: Inquiry) -> int:
        token.run_sync_soon(keep_busy)
        return 7

    assert await inquire(work, seconds=SECONDS) == 7


async def test_without_an_answer_the_time_counts_however_late_the_event_loop_is() -> None:
    token, over = trio.lowlevel.current_trio_token(), threading.Event()

    def work(_: Inquiry) -> None:
        token.run_sync_soon(keep_busy)
        over.wait(10)

    with pytest.raises(BackendError):
        await inquire(work, seconds=SECONDS)
    over.set()
