"""Play one round: a session with timed answers and killed processes until it is complete."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from ..mortal import GONE_WITHIN, Instant
from ..operations.kills_model import check
from .kills_answers import InboxFile, batches
from .kills_life import Life, Place
from .kills_verdict import Verdict

__all__ = ["Result", "RoundJournal", "play"]

_TASK: Final = "Do the work.\nAll of it."
_EARLY: Final = 0.04


class RoundJournal(NamedTuple):
    """What happens in one round: the instants at which its processes end, `start` with the first of them, perhaps."""

    seed: int
    in_start: Instant | None
    instants: tuple[Instant, ...]

    @classmethod
    def of(cls, seed: int) -> RoundJournal:
        """The round of a seed."""
        random = Random(seed)
        in_start = Instant(0, random.uniform(0.15, 0.5), "") if random.random() < 0.2 else None
        return cls(seed, in_start, tuple(_instant(random) for _ in range(random.randint(0, 6))))


class Result(NamedTuple):
    """How many processes were killed, how many there were, how many answers and commands, and how many of these were
    cut short, so that what they did is unknown."""

    round: RoundJournal
    kills: int
    lives: int
    answers: int
    commands: int
    unknown: int


def _instant(random: Random) -> Instant:
    line = random.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10))
    seconds = 10 ** random.uniform(-4, -0.5) if line else random.uniform(0.1, 0.7)
    if line and random.random() < 0.3:
        seconds = 0.0
    return Instant(line, seconds, random.choice(("", "", "group", "guards")))


def play(round_: RoundJournal, directory: Path) -> Result:
    """Play a round in a directory. Raises `Broken`, and AssertionError."""
    return _Carrier(round_, Place(directory)).play()


class _Carrier:
    """Whoever carries outboxes and answers, and starts the process again when it was killed."""

    def __init__(self, round_: RoundJournal, place: Place) -> None:
        self._round = round_
        self._place = place
        self._random = Random(f"answers {round_.seed}")
        self._left = batches(self._random)
        self._instants = list(round_.instants)
        self._kills = 0
        self._lives = 0
        self._put_to_a_living = False
        self._verdict = Verdict(place)

    def play(self) -> Result:
        """From the start to the end of the session."""
        self._start()
        while not self._is_complete():
            if self._left and self._nothing_waits():
                self._put()
                self._put_to_a_living = False
            self._live(self._random.choice(("once", "once", "resume")))
        model = self._verdict.final(_TASK, complete_inbox=not self._put_to_a_living)
        check(self._place.everyone.soon(GONE_WITHIN) == [], self._place.everyone.now())
        check(self._place.is_free(), "the mailbox is still locked")
        answers = len(self._verdict.brought)
        return Result(self._round, self._kills, self._lives, answers, model.commands, model.unknown)

    def _start(self) -> None:
        instant = self._round.in_start
        while self._place.session() is None:
            life = Life(self._place, instant, "start", "--workspace", str(self._place.root), "--no-wait", _TASK)
            instant = None
            for record in self._over(life):
                check(record["type"] in ("outbox", "waiting", "remark"), record)

    def _live(self, action: str) -> None:
        life = Life(self._place, self._instants.pop(0) if self._instants else None, action)
        taken = self._verdict.life()
        for record in self._over(life):
            taken.take(record)
            early = record["type"] == "result" and self._random.random() < _EARLY
            waits = record["type"] == "waiting" and action == "resume"
            if self._left and (waits or early):
                self._put()
                self._put_to_a_living = True
        self._verdict.look_at_outboxes()

    def _over(self, life: Life) -> Any:
        """The records of a life; whatever happens, nothing of it is left."""
        try:
            yield from life.records()
        finally:
            life.abandon()
        self._lives += 1
        self._kills += life.killed

    def _put(self) -> None:
        batch: list[InboxFile] = self._left.pop(0)
        for answer in batch:
            self._place.put(answer)
            self._verdict.brought.append(answer)

    def _nothing_waits(self) -> bool:
        return not [path for path in (self._place.mailbox / "inbox").iterdir() if path.suffix.lower() == ".txt"]

    def _is_complete(self) -> bool:
        session = self._place.session()
        assert session is not None
        return bool(session["isComplete"])
