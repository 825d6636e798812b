"""Play some rounds of `kills.py`: processes end at random instants."""

from __future__ import annotations

import pytest

from ..needs import missing
from ..protocols.rounds import Failure, play_all
from .kill_round import Result, Round, play
from .kills import summary

pytestmark = pytest.mark.rule("J4", "J10", "J12", "J13", "J14", "N2")

_SEED = 500


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine needs longer than the second that is measured when the rounds are played by name."""
    monkeypatch.setattr("tests.daemon.kill_round.GONE_WITHIN", 60.0)


@pytest.mark.fault("daemon", "A signal kills the supervisor", "The daemon cancels active runs and exits with status 0")
def test_a_supervisor_that_is_killed_leaves_nothing() -> None:
    _held(_round(("supervisor KILL",)))


@pytest.mark.fault(
    "daemon",
    "A signal kills the daemon",
    "No process of its runs survives; the journal contains everything that was sent",
)
def test_a_daemon_that_is_killed_leaves_its_journal_and_nothing_else() -> None:
    _held(_round(("daemon KILL",)))


@pytest.mark.fault(
    "daemon",
    "Signals kill supervisor, daemon, guards and agents at once",
    "The result is the same as when only the daemon dies",
)
def test_all_killed_at_once_leave_the_journal_and_nothing_else() -> None:
    _held(_round(("all KILL",)))


def test_whatever_is_ended_at_whatever_instant_nothing_is_lost_and_nothing_is_left() -> None:
    _held(*[seed for seed in range(_SEED, _SEED + 60) if _is_quick(Round.of(seed))][:3])


@pytest.mark.nightly
def test_whatever_is_ended_in_three_hundred_rounds() -> None:
    _held(*range(_SEED, _SEED + 300))


def _is_quick(round_: Round) -> bool:
    """Whether nobody in it takes long to be ended, or says more than is soon read."""
    return {"stubborn", "chatty", "talkative"}.isdisjoint(round_.tempers)


def _round(steps: tuple[str, ...]) -> int:
    """The first seed of a round that goes this way, with something heard before."""
    rounds = [Round.of(seed) for seed in range(_SEED, _SEED + 2000)]
    found = [it.seed for it in rounds if it.way.steps == steps and not it.way.drain and it.at > 0 and _is_quick(it)]
    if not found:
        missing("namespaces")
    return found[0]


def _held(*seeds: int) -> None:
    results = list(play_all(map(Round.of, seeds), play, jobs=2))
    assert [result for result in results if isinstance(result, Failure)] == [], summary(results)
    assert sum(result.kept.heard for result in results if isinstance(result, Result)) > 0
