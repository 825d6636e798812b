"""End the real CLI in every way, at every level and at random instants: `python -m tests.kill_matrix`.

The exit status is 1 if a process survives, or if a run did not start completely before its end.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from random import Random, SystemRandom

from .cells import MODES, PROGRAMS, Cell, Result, instants, modes_of, play
from .faces import BARE
from .limits import LEVELS, available
from .scenarios import SCENARIOS
from .span import measure_span
from .summary import summary


def main() -> int:
    """Play the matrix and print its table."""
    parser = options_parser()
    options = parser.parse_args()
    _ignore_no_signals()
    programs = {str(program): program for program in reversed(PROGRAMS[options.agent]())}
    if (options.release or "") not in ("", *programs):
        parser.error(f"--release: not one of {', '.join(programs)}")
    release = programs[options.release] if options.release else PROGRAMS[options.agent]()[0]
    seed = SystemRandom().randrange(10**6) if options.seed is None else options.seed
    levels = [level for level in options.levels if level in (*available(), BARE)]
    span = options.span or measure_span(release)
    print(f"seed {seed}, span {span:.3f} s, release {release}, levels here: {', '.join(available())}", flush=True)
    cells = [
        Cell(release, scenario, level, mode, at, span)
        for scenario in SCENARIOS
        if not options.scenarios or scenario.name in options.scenarios
        for level in levels
        for mode in modes_of(release)
        if mode in options.modes
        for at in ([options.at] if options.at is not None else instants(seed, scenario, level, mode, options.instants))
    ]
    results = _play_all(cells, options.jobs, seed)
    print(summary(results))
    return 1 if any(result.verdict == "failed" for result in results) else 0


def _play_all(cells: list[Cell], jobs: int, seed: int) -> list[Result]:
    """All cells in an order that mixes them, so that a part of them already says something of every scenario."""
    started = time.monotonic()
    order = list(range(len(cells)))
    Random(seed).shuffle(order)
    results: dict[int, Result] = {}
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(play, cells[number]): number for number in order}
        for future in as_completed(futures):
            result = results[futures[future]] = future.result()
            if result.verdict == "failed":
                print(f"failed: {result.reason}\n    {result.cell.command}", flush=True)
            if len(results) % 50 == 0:
                print(f"{len(results)} of {len(cells)} after {time.monotonic() - started:.0f} s", flush=True)
    return [results[number] for number in sorted(results)]


def _ignore_no_signals() -> None:
    """Who starts this by `nohup`, or in the background of a script, makes it ignore signals, and so the adapter."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def options_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, which also reads the command of a cell."""
    parser = argparse.ArgumentParser(prog="python -m tests.kill_matrix", description=__doc__)
    names = [scenario.name for scenario in SCENARIOS]
    parser.add_argument("--agent", default="codex", choices=list(PROGRAMS))
    parser.add_argument("--release", help="of the installed ones (default: of the wheel, else the newest)")
    parser.add_argument("--instants", type=int, default=10, help="random instants of each kind (default: 10)")
    parser.add_argument("--levels", nargs="+", default=LEVELS, choices=[*LEVELS, BARE])
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES)
    parser.add_argument("--scenarios", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--seed", type=int, help="of the instants (default: a random one, which is printed)")
    parser.add_argument("--at", type=float, help="one instant instead, from a failure's line")
    parser.add_argument("--span", type=float, help="seconds from the agent's start to all descendants being up")
    return parser


if __name__ == "__main__":
    sys.exit(main())
