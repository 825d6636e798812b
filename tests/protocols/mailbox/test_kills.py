"""Play some rounds of `kills.py`: the command `mailbox` is killed at random instants."""

from __future__ import annotations

import pytest

from ..rounds import Failure, play_all
from .kills import summary
from .kills_round import RoundJournal, play

pytestmark = pytest.mark.rule("I11", "I12", "I13", "I14", "I15")

_SEED = 700


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine needs longer than the second that is measured when the rounds are played by name."""
    monkeypatch.setattr("tests.protocols.mailbox.kills_round.GONE_WITHIN", 60.0)
    monkeypatch.setattr("tests.protocols.mailbox.kills_life.GONE_WITHIN", 60.0)


@pytest.mark.fault(
    "workspace",
    "SIGKILL ends the command `mailbox` repeatedly at random times",
    "Each command has one result and runs once; files and outboxes match the results",
)
def test_whenever_it_is_killed_each_command_has_one_result_and_nothing_is_done_twice() -> None:
    _held(range(_SEED, _SEED + 2))


@pytest.mark.nightly
def test_whenever_it_is_killed_in_a_hundred_rounds() -> None:
    _held(range(_SEED, _SEED + 100))


def _held(seeds: range) -> None:
    results = list(play_all(map(RoundJournal.of, seeds), play, jobs=2))
    assert [result for result in results if isinstance(result, Failure)] == [], summary(results)
