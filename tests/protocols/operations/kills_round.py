"""Play one round: a sender with batches, and a runtime that is killed until all are complete."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from ...cli.command import ADAPTER
from ...waiting import SOON
from ..mortal import Instant
from ..rounds import Broken
from .kills_batches import LARGE, batches
from .kills_ledger import Ledger
from .kills_life import Killed, Life, Place
from .kills_model import Model, check

__all__ = ["Result", "Round", "play"]

_FENCE: Final = b"fence\n"
"""No message: its answer comes behind all that an earlier life has left (O11)."""


class Round(NamedTuple):
    """What happens in one round: the instants at which its lives end. One more life brings all to its end."""

    seed: int
    instants: tuple[Instant, ...]

    @classmethod
    def of(cls, seed: int) -> Round:
        """The round of a seed."""
        random = Random(seed)
        return cls(seed, tuple(_instant(random) for _ in range(random.randint(2, 6))))


class Result(NamedTuple):
    """How many lives were ended, how many operations there were, how many answers came again, how many commands were
    cut short, and how many answers were torn."""

    round: Round
    kills: int
    operations: int
    repeated: int
    unknown: int
    torn: int


def _instant(random: Random) -> Instant:
    line = random.choice((0, 1, 1, 1, 2, 2, 3, 4))
    seconds = 10 ** random.uniform(-3, 0) if line else random.uniform(0.1, 0.7)
    if line > 1 and random.random() < 0.5:
        seconds = 0.0
    return Instant(line, seconds, random.choice(("", "", "group", "guards")))


def play(round_: Round, directory: Path) -> Result:
    """Play a round in a directory. Raises `Broken`, and AssertionError."""
    sender = _Sender(round_, Place(directory))
    try:
        return sender.play()
    finally:
        sender.life.abandon()


class _Sender:
    """Whoever sends the batches, lives longer than any runtime, and sends again what none has taken up."""

    def __init__(self, round_: Round, place: Place) -> None:
        self._round = round_
        self._place = place
        self._random = Random(f"batches {round_.seed}")
        self._model = Model()
        self._model.files[LARGE] = b"x" * 3_000_000
        (place.root / LARGE).write_bytes(self._model.files[LARGE])
        self._ledgers = [Ledger(batch, self._model) for batch in batches(self._random)]
        self._torn = b""
        self._times_torn = 0
        self._instants = iter(round_.instants)
        self._kills = 0
        self.life = Life(place, next(self._instants))

    def play(self) -> Result:
        """From the first message to the end of the last life."""
        self._until_ready()
        for ledger in self._ledgers:
            self._carry_out(ledger)
        self._end()
        self._model.look_at(self._place.root)
        self._look_at_log()
        operations = sum(len(ledger.events) for ledger in self._ledgers)
        repeated = sum(ledger.repeated for ledger in self._ledgers)
        return Result(self._round, self._kills, operations, repeated, self._model.unknown, self._times_torn)

    def _carry_out(self, ledger: Ledger) -> None:
        while not ledger.over:
            line = ledger.line
            if ledger.run_id:
                decision = self._random.choice(("approved", "approved", "denied"))
                line = ledger.decide(decision, self._random.choice(("words", "plain", "run")))
            try:
                self._take(self.life.ask(line), ledger)
            except Killed:
                self._live_again(ledger)

    def _take(self, line: bytes, current: Ledger | None) -> None:
        answer = json.loads(line)
        if self._torn:
            check(line.startswith(self._torn), f"{self._torn!r} came before, now {line!r}")
            self._torn = b""
        for ledger in self._ledgers:
            if ledger.run_id == answer["runId"]:
                return ledger.take(line, answer)
        if current is None or current.run_id:
            raise Broken(f"an answer to nothing: {line!r}")
        current.run_id = answer["runId"]
        return current.take(line, answer)

    def _live_again(self, ledger: Ledger | None) -> None:
        """Start the runtime again, and take what the one before it has left."""
        self._kills += 1
        self._tear(self.life.torn)
        self.life = Life(self._place, next(self._instants, None))
        self._until_ready(ledger)

    def _until_ready(self, ledger: Ledger | None = None) -> None:
        try:
            line = self.life.ask(_FENCE)
            while b'"a message must be JSON in UTF-8"' not in line:
                self._take(line, ledger)
                line = self.life.answer()
            check(self._torn == b"", f"{self._torn!r} came before, and then nothing of it")
        except Killed:
            self._live_again(ledger)

    def _tear(self, torn: bytes) -> None:
        self._times_torn += bool(torn)
        check(torn.startswith(self._torn) or self._torn.startswith(torn), f"{self._torn!r}, then {torn!r}")
        self._torn = max(self._torn, torn, key=len)

    def _end(self) -> None:
        try:
            self.life.end()
        except Killed:
            self._live_again(None)
            self._end()

    def _look_at_log(self) -> None:
        words = [*ADAPTER, "operations", "--audit", "--state", str(self._place.state)]
        done = subprocess.run(words, capture_output=True, timeout=SOON, check=True, env=self._place.cli.env)
        log = [json.loads(line) for line in done.stdout.splitlines()]
        for ledger in self._ledgers:
            of_run = [record for record in log if record["runId"] == ledger.run_id]
            kinds = Counter(record["kind"] for record in of_run)
            check((kinds["message"], kinds["ended"]) == (1, 1), kinds)
            events = [
                it for it in of_run if it["kind"] == "event" and it["data"]["event"]["type"] != "approvalRequired"
            ]
            check([it["position"] for it in events] == list(range(len(ledger.events))), events)
            for record, event in zip(events, ledger.events, strict=True):
                logged = record["data"]["event"]
                check((logged["type"], logged["timestamp"]) == (event["type"], event["timestamp"]), f"{logged} {event}")
            decided = {it["position"]: it["data"]["decision"] for it in of_run if it["kind"] == "decision"}
            check(decided == ledger.decisions and kinds["decision"] == len(decided), f"{decided} {ledger.decisions}")
