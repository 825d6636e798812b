"""Measure the delay of events from the agent's write to the supervisor: `python -m benchmarks.latency [PART...]`.

`rates` measures events at a steady pace, `first` the first event of many runs, and `cancel` the delay until the reader
of a flood learns that it must stop. Each table also shows a bare pipe from the agent to the supervisor, which is the
delay of the machine itself. All paths take turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import trio

from benchmarks.stamped import PATHS, flooding_agent, stamping_agent
from codex_adapter import CodexConfig, RunHandle, RunRequest, open_run

__all__ = ["main"]

_RATES: Final = (10, 1_000, 20_000)
_PER_MILLE: Final = {"p50": 500, "p90": 900, "p99": 990, "p99.9": 999, "max": 1000}
_READ_BEFORE_CANCEL: Final = 0.02


def main() -> None:
    """Measure and print a table a part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(_PARTS)}; default: all")
    parser.add_argument("--events", type=int, default=100_000, help="events of a rate, at most (default: 100000)")
    parser.add_argument("--seconds", type=float, default=30.0, help="time for a rate and a path (default: 30)")
    parser.add_argument("--rounds", type=int, default=5, help="turns in which these are measured (default: 5)")
    parser.add_argument("--runs", type=int, default=200, help="runs for the first event (default: 200)")
    parser.add_argument("--cancels", type=int, default=50, help="cancellations of each kind (default: 50)")
    options = parser.parse_args()
    parts = options.parts or list(_PARTS)
    if not set(parts) <= set(_PARTS):
        parser.error(f"parts are {', '.join(_PARTS)}")
    print(f"ms; Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as folder:
        for part in parts:
            _PARTS[part](Path(folder), options)


def _rates(folder: Path, options: argparse.Namespace) -> None:
    for rate in _RATES:
        count = max(1, int(min(options.events, options.seconds * rate)) // options.rounds)
        agent = stamping_agent(folder, rate=rate, count=count, lead=0.2)
        ages: dict[str, list[int]] = {name: [] for name in PATHS}
        for _ in range(options.rounds):
            for name, path in PATHS.items():
                ages[name] += path(agent)
        _print(f"{rate} events a second", ages)


def _first(folder: Path, options: argparse.Namespace) -> None:
    agent = stamping_agent(folder, rate=1, count=1)
    ages: dict[str, list[int]] = {name: [] for name in PATHS}
    for _ in range(options.runs):
        for name, path in PATHS.items():
            ages[name] += path(agent)
    _print("first event of a run", ages)


def _cancel(folder: Path, options: argparse.Namespace) -> None:
    config = CodexConfig(binary=str(flooding_agent(folder)))
    lateness = {
        "deadline of a scope": trio.run(_by_deadline, config, options.cancels),
        "RunHandle.cancel()": [trio.run(_by_request, config) for _ in range(options.cancels)],
    }
    _print("until the reader of a flood is stopped", lateness)


async def _by_deadline(config: CodexConfig, times: int) -> list[int]:
    """How long after its deadline each of several scopes was left."""
    late: list[int] = []
    async with open_run(RunRequest(prompt="x"), config=config) as run:
        for _ in range(times):
            with trio.move_on_after(_READ_BEFORE_CANCEL) as scope:
                await _consume(run)
            late.append(int((trio.current_time() - scope.deadline) * 1e9))
        run.kill()
    return late


async def _by_request(config: CodexConfig) -> int:
    """How long after the call the events were at their end."""
    asked_at = 0.0
    async with open_run(RunRequest(prompt="x"), config=config) as run, trio.open_nursery() as nursery:

        async def ask() -> None:
            nonlocal asked_at
            await trio.sleep(_READ_BEFORE_CANCEL)
            asked_at = trio.current_time()
            run.cancel()

        await run.events.receive()
        nursery.start_soon(ask)
        await _consume(run)
        late = trio.current_time() - asked_at
    return int(late * 1e9)


async def _consume(run: RunHandle) -> None:
    async for _ in run.events:
        pass


def _print(title: str, ages: Mapping[str, list[int]]) -> None:
    floor = sorted(ages.get("bare pipe", ()))
    print(
        f"\n{title:<40}{'n':>8}" + "".join(f"{name:>9}" for name in _PER_MILLE) + (f"{'p50 ratio':>11}" * bool(floor))
    )
    for name, unsorted in ages.items():
        values = sorted(unsorted)
        row = f"{name:<40}{len(values):>8}"
        row += "".join(f"{_at(values, per_mille) / 1e6:>9.3f}" for per_mille in _PER_MILLE.values())
        print(row + (f"{_at(values, 500) / _at(floor, 500):>11.2f}" if floor else ""))


def _at(values: list[int], per_mille: int) -> int:
    return values[min(len(values) - 1, len(values) * per_mille // 1000)]


_PARTS: Final[dict[str, Callable[[Path, argparse.Namespace], None]]] = {
    "rates": _rates,
    "first": _first,
    "cancel": _cancel,
}

if __name__ == "__main__":
    main()
