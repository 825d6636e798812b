"""Test the real CLI without a network: repeated reconnects count as idle, and the run ends."""

from __future__ import annotations

import pytest

from codex_adapter import RunTimedOut
from codex_adapter.testing import Scenario

from .shapes import shape
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("K2")]

ENDLESS = "request_max_retries = 0, stream_max_retries = 100"
IDLE = "codex stream idle timeout: 3s"


async def test_reconnecting_without_end_to_a_server_that_is_not_there_is_idle(stage: Stage) -> None:
    with stage.model(Scenario(), retries=ENDLESS):
        """Afterwards nobody listens on its port."""
    outcome = await stage.run(idle_timeout=3.0)
    assert isinstance(outcome.error, RunTimedOut)
    assert str(outcome.error) == IDLE
    told = shape(outcome.events)
    assert (told[:3], told[-1]) == (["session", "status", "notice"], IDLE)
    assert 3.0 <= outcome.seconds < 10.0


@pytest.mark.rule("F3", "R1")
async def test_without_retries_the_turn_fails_by_itself_in_the_releases_that_give_up(stage: Stage) -> None:
    with stage.model(Scenario()):
        """Afterwards nobody listens on its port."""
    outcome = await stage.run(idle_timeout=3.0)
    if stage.release.before(0, 155):
        told = shape(outcome.events)
        assert told[-3:] == ["notice", "turn failed", "codex exited non-zero: exit status: 1 (stderr redacted)"]
        assert outcome.completion is not None
        assert outcome.completion.turn == "failed"
    else:
        assert str(outcome.error) == IDLE
