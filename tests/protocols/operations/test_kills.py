"""Play some rounds of `kills.py`: the runtime is killed at random instants."""

from __future__ import annotations

import pytest

from ..rounds import Failure, play_all
from .kills import summary
from .kills_round import Round, play

pytestmark = pytest.mark.rule("O7", "O9", "O11", "O12", "A8", "A9")

_SEED = 500


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine needs longer than the second that is measured when the rounds are played by name."""
    monkeypatch.setattr("tests.protocols.operations.kills_life.GONE_WITHIN", 60.0)


@pytest.mark.fault(
    "workspace",
    "SIGKILL ends the command `operations` repeatedly at random times",
    "Each operation has one event, no command runs twice, and files and log match the events",
)
def test_whenever_it_is_killed_nothing_is_lost_nothing_is_done_twice_and_nothing_is_left() -> None:
    _held(range(_SEED, _SEED + 2))


@pytest.mark.nightly
def test_whenever_it_is_killed_in_two_hundred_rounds() -> None:
    _held(range(_SEED, _SEED + 200))


def _held(seeds: range) -> None:
    results = list(play_all(map(Round.of, seeds), play, jobs=2))
    assert [result for result in results if isinstance(result, Failure)] == [], summary(results)
