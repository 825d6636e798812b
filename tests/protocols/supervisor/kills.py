"""`python -m tests.protocols.supervisor.kills`: supervisors, daemons, agents and guards are ended at random instants.

Whatever is ended: what the supervisor has heard stands in the journal, no journal is damaged, and nothing lives on.
Exit status 1 when that was not so in some round.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import SystemRandom
from typing import NamedTuple

from .kill_round import Broken, Result, Round, play

__all__ = ["Failure", "play_all", "summary"]


class Failure(NamedTuple):
    """A round in which something was wrong."""

    round: Round
    reason: str


def main() -> int:
    """Play the rounds and print their table."""
    parser = argparse.ArgumentParser(prog="python -m tests.protocols.supervisor.kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--seed", type=int, help="of the first round, the next has the next (default: a random one)")
    parser.add_argument("--jobs", type=int, default=2, help="rounds at a time (default: 2)")
    options = parser.parse_args()
    # Who starts this by `nohup`, or in the background of a script, makes it ignore signals, and so the daemon.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)
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
    """The table by the way in which something was ended, and its sums."""
    rows: dict[str, list[Result]] = defaultdict(list)
    failed: dict[str, int] = defaultdict(int)
    for result in results:
        row = rows[result.round.way.name]
        if isinstance(result, Failure):
            failed[result.round.way.name] += 1
        else:
            row.append(result)
    counted = "rounds failed missed    heard     kept  torn accepted"
    lines = [f"{'what is ended':48} {counted} gone after"]
    for name in [*sorted(rows), ""]:
        of_row = rows[name] if name else [result for row in list(rows.values()) for result in row]
        wrong = failed[name] if name else sum(failed.values())
        heard, kept, torn = (sum(getattr(it.kept, field) for it in of_row) for field in ("heard", "kept", "torn"))
        missed = sum(it.missed for it in of_row)
        accepted = sum(len(it.kept.accepted) for it in of_row)
        slowest = max((it.seconds for it in of_row), default=0.0)
        lines.append(
            f"{name or 'all':48} {len(of_row) + wrong:>6} {wrong:>6} {missed:>6}"
            f" {heard:>8} {kept:>8} {torn:>5} {accepted:>8} {slowest:>8.2f} s"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
