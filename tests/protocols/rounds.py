"""Play random tests in rounds with a seed each, in several threads, and summarize them."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import SystemRandom
from typing import Any, NamedTuple, TypeVar

__all__ = ["Broken", "Failure", "command", "play_all", "summed"]

_R = TypeVar("_R")
_T = TypeVar("_T")


class Broken(Exception):
    """What went wrong."""


class Failure(NamedTuple):
    """A round in which something was wrong."""

    round: Any
    reason: str


def play_all(rounds: Iterable[_R], play: Callable[[_R, Path], _T], jobs: int) -> Iterator[_T | Failure]:
    """What came of each round, one after another; each has a directory of its own."""

    def played(round_: _R) -> _T | Failure:
        directory = Path(tempfile.mkdtemp(prefix="kills-"))
        try:
            return play(round_, directory)
        except (Broken, AssertionError) as wrong:
            return Failure(round_, f"{type(wrong).__name__}: {wrong}")
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(played, rounds)


def summed(results: Sequence[Any], kind: type[Any]) -> str:
    """The sums of what the rounds came to, a `kind` of NamedTuple each that has its round, on one line."""
    good = [result for result in results if isinstance(result, kind)]
    sums = {name: sum(getattr(it, name) for it in good) for name in kind._fields if name != "round"}
    told = ", ".join(f"{name} {number}" for name, number in sums.items())
    return f"rounds {len(results)}, failed {len(results) - len(good)}, {told}"


def command(
    program: str,
    description: str | None,
    made: Callable[[int], _R],
    play: Callable[[_R, Path], _T],
    summary: Callable[[Sequence[_T | Failure]], str],
    *,
    rounds: int,
) -> int:
    """Play rounds as the arguments say and print what came of them; the exit status, 1 when something was wrong."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help=f"how many (default: {rounds})")
    parser.add_argument("--seed", type=int, help="of the first round, the next has the next (default: a random one)")
    parser.add_argument("--jobs", type=int, default=2, help="rounds at a time (default: 2)")
    options = parser.parse_args()
    seed = SystemRandom().randrange(10**9) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    results: list[_T | Failure] = []
    for result in play_all(map(made, range(seed, seed + options.rounds)), play, options.jobs):
        if isinstance(result, Failure):
            print(f"failed: --rounds 1 --seed {seed + len(results)}: {result.round}\n    {result.reason}", flush=True)
        results.append(result)
        if len(results) % 50 == 0:
            print(f"{len(results)} rounds after {time.monotonic() - started:.0f} s", flush=True)
    print(summary(results))
    return 1 if any(isinstance(result, Failure) for result in results) else 0
