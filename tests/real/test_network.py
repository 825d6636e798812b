"""The real CLI without a network: its endless reconnecting is no progress, and is ended."""

from __future__ import annotations

import pytest

from codex_adapter import RunTimedOut
from codex_adapter.testing import Scenario

from .shapes import shape
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("K2")]

IDLE = "codex stream idle timeout: 3s"


async def test_reconnecting_to_a_server_that_is_not_there_is_idle(stage: Stage) -> None:
    with stage.model(Scenario(), retries=True):
        """Afterwards nobody listens on its port."""
    outcome = await stage.run(idle_timeout=3.0)
    assert isinstance(outcome.error, RunTimedOut)
    assert str(outcome.error) == IDLE
    told = shape(outcome.events)
    assert (told[:3], told[-1]) == (["session", "status", "notice"], IDLE)
    # the idle clock starts with the last progress, which is the start of the turn
    assert 3.0 <= outcome.seconds < 10.0


@pytest.mark.rule("F3")
async def test_without_retries_the_turn_fails_by_itself(stage: Stage) -> None:
    with stage.model(Scenario()):
        """Afterwards nobody listens on its port."""
    outcome = await stage.run(idle_timeout=10.0)
    if outcome.completion is None:
        assert str(outcome.error) == "codex stream idle timeout: 10s"
    else:
        assert shape(outcome.events)[-2:] == ["turn failed", "codex exited non-zero: exit status: 1 (stderr redacted)"]
