"""Test invalid requests, and time limits that expire before the first step."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from codex_adapter import CodexBackend, InvalidRequestError, RunRequest, RunTimedOut, collect, sync
from codex_adapter.hints import ADVICE

ODD = pytest.mark.parametrize("given", [{"prompt": "x"}, None, b"x", 7])


@ODD
@pytest.mark.rule("Q1")
async def test_what_is_not_a_request_is_refused(given: Any) -> None:
    for asked in (collect, CodexBackend().check):
        with pytest.raises(InvalidRequestError, match=r"^request must be a RunRequest; "):
            await asked(given)


@ODD
@pytest.mark.rule("Q1", "P7")
def test_what_is_not_a_request_is_refused_without_an_event_loop(given: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"^request must be a RunRequest; "):
        sync.run(given)


@pytest.mark.rule("K1")
async def test_a_tiny_time_limit_does_not_blame_the_file_system() -> None:
    with trio.fail_after(60), pytest.raises(RunTimedOut) as raised:
        await collect(RunRequest(prompt="x", timeout=1e-9))
    assert (raised.value.hint, raised.value.advice) == ("time_limit", ADVICE["time_limit"])
