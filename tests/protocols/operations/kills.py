"""`python -m tests.protocols.operations.kills`: the runtime of operations is killed at random instants, over and over.

Whenever that is: each operation has one event, which never changes; no command runs twice; the files are what the
events say; nothing lives on. Exit status 1 when that was not so in some round.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import SystemRandom
from typing import NamedTuple

from .kills_model import Broken
from .kills_round import Result, Round, play

__all__ = ["Failure", "play_all", "summary"]


class Failure(NamedTuple):
    """A round in which something was wrong."""

    round: Round
    reason: str


def main() -> int:
    """Play the rounds and print their sums."""
    parser = argparse.ArgumentParser(prog="python -m tests.protocols.operations.kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--seed", type=int, help="of the first round, the next has the next (default: a random one)")
    parser.add_argument("--jobs", type=int, default=2, help="rounds at a time (default: 2)")
    options = parser.parse_args()
    seed = SystemRandom().randrange(10**9) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    results: list[Result | Failure] = []
    for result in play_all(range(seed, seed + options.rounds), options.jobs):
        results.append(result)
        if isinstance(result, Failure):
            print(f"failed: --rounds 1 --seed {result.round.seed}: {result.round}\n    {result.reason}", flush=True)
        if len(results) % 50 == 0:
            print(f"{len(results)} rounds after {time.monotonic() - started:.0f} s", flush=True)
    print(summary(results))
    return 1 if any(isinstance(result, Failure) for result in results) else 0


def play_all(seeds: Iterable[int], jobs: int) -> Iterator[Result | Failure]:
    """What came of each round, one after another."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(_play, map(Round.of, seeds))


def _play(round_: Round) -> Result | Failure:
    directory = Path(tempfile.mkdtemp(prefix="kills-"))
    try:
        return play(round_, directory)
    except (Broken, AssertionError) as wrong:
        return Failure(round_, f"{type(wrong).__name__}: {wrong}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def summary(results: Iterable[Result | Failure]) -> str:
    """The sums, on one line."""
    every = list(results)
    good = [result for result in every if isinstance(result, Result)]
    sums = {name: sum(getattr(it, name) for it in good) for name in Result._fields if name != "round"}
    told = ", ".join(f"{name} {number}" for name, number in sums.items())
    return f"rounds {len(every)}, failed {len(every) - len(good)}, {told}"


if __name__ == "__main__":
    sys.exit(main())
