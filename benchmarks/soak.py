"""Check that a long-lived process does not grow: `python -m benchmarks.soak events|runs [--count N]`.

`events` reads that many events of one run. `runs` makes that many runs, some of them concurrently, at the strongest
level of containment. Both sample the process meanwhile and print a table. The first fifth is the warm-up. Of the rest,
the last quarter is compared with the first: memory by its median, all other values by their maximum. The exit status is
1 if memory has grown by more than the tolerance, or if the number of descriptors, threads, tasks or thousands of
objects has grown. It is also 1 if a run has left any process or file.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
import trio

from benchmarks.streams import make
from codex_adapter import CodexBackend, CodexConfig, RunRequest
from codex_adapter.runtime.containment.containment import Containment

__all__ = ["Sample", "growth", "main"]

_SAMPLES: Final = 50
_WARM_UP: Final = 0.2
_LINES_A_ROUND: Final = 50_000
_MOST_BLOCKS: Final = 5_000
"""Python keeps some thousands of freed tuples and the like for later, which fill only slowly."""

_EVENTS_AGENT: Final = """#!/bin/sh
n=0
while [ $n -lt {rounds} ]; do cat {stream}; n=$((n + 1)); done
exec head -n {rest} {stream}
"""
_RUNS_AGENT: Final = """#!/bin/sh
read -r prompt
printf '{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-%012d"}\\n{"type":"turn.started"}\\n' "$$"
for n in 1 2 3 4 5; do
  printf '{"type":"item.completed","item":{"id":"item_%d","type":"agent_message","text":"%s, %d"}}\\n' $n "$prompt" $n
done
printf '{"type":"turn.completed","usage":{"input_tokens":1}}\\n'
"""
_EVENTS_A_RUN: Final = 8


class Sample(msgspec.Struct, frozen=True):
    """The process after `count` events or runs: KiB resident, and of them its own; blocks that Python has allocated,
    after a collection, which tell a leak of objects from what the allocators keep; descriptors, threads, tasks.

    Threads that trio keeps for the next call that needs one are not counted: they are few, and end by themselves.
    """

    count: int
    seconds: float
    resident: int
    own: int
    blocks: int
    descriptors: int
    threads: int
    tasks: int


def growth(samples: list[Sample], tolerance: float) -> list[str]:
    """What has grown between the first and the last quarter after the warm-up; memory by more than `tolerance` MiB."""
    first, last = _quarters(samples)
    found: list[str] = []
    mib = _more("own", first, last) / 1024
    if mib > tolerance:
        found.append(f"memory has grown by {mib:.1f} MiB")
    if (blocks := _more("blocks", first, last)) > _MOST_BLOCKS:
        found.append(f"there are {blocks:.0f} more blocks")
    for name in ("descriptors", "threads", "tasks"):
        more = max(getattr(sample, name) for sample in last) - max(getattr(sample, name) for sample in first)
        if more > 0:
            found.append(f"there are {more} more {name}")
    return found


def main() -> int:
    """Soak, print the samples and the verdict, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("what", choices=["events", "runs"])
    parser.add_argument("--count", type=int, help="how many (default: 10 million events, 10 thousand runs)")
    parser.add_argument("--at-once", type=int, default=8, help="runs at the same time (default: 8)")
    # Python's allocator takes a mebibyte at a time until it has what it needs; what leaks in each run is more blocks.
    parser.add_argument("--tolerance", type=float, default=3.0, help="MiB of growth to bear (default: 3)")
    options = parser.parse_args()
    count = options.count or (10_000_000 if options.what == "events" else 10_000)
    with tempfile.TemporaryDirectory() as folder:
        soak = _Soak(Path(folder))
        if options.what == "events":
            trio.run(soak.events, count)
        else:
            trio.run(soak.runs, count, options.at_once)
        found = [*growth(soak.samples, options.tolerance), *soak.leftovers()]
    print(f"{soak.containment.level}; Python {sys.version.split()[0]}; {_slope(soak.samples, options.what)}")
    print("\n".join(f"FAILED: {complaint}" for complaint in found) or "nothing grows, nothing is left")
    return 1 if found else 0


class _Soak:
    """One measurement: its agent and its temporary files in a directory of its own, and its samples."""

    def __init__(self, folder: Path) -> None:
        self.samples: list[Sample] = []
        self.containment = Containment()
        self._folder = folder
        self._temporary = folder / "tmp"
        self._temporary.mkdir()
        # Where a run makes its temporary files, so that only this process's are there.
        tempfile.tempdir = str(self._temporary)
        self._began = time.monotonic()
        print(
            f"{'count':>10}{'seconds':>9}{'RSS KiB':>9}{'own KiB':>9}{'blocks':>8}{'fds':>5}{'threads':>9}{'tasks':>7}"
        )

    async def events(self, count: int) -> None:
        """Take `count` events from one run, one at a time."""
        stream = self._folder / "stream.jsonl"
        stream.write_bytes(make("realistic", _LINES_A_ROUND).data)
        rounds, rest = divmod(count, _LINES_A_ROUND)
        backend = self._backend(_EVENTS_AGENT.format(rounds=rounds, rest=rest, stream=stream))
        due, taken = self._dues(count), 0
        async with backend.open_run(RunRequest(prompt="x")) as run:
            async for event in run.events:
                taken += 1
                if taken == due[0]:
                    self._sample(due.pop(0))
                assert event.seq == taken - 1
            completion = await run.wait_completed()
        if (taken, completion.status.code) != (count, 0):
            raise SystemExit(f"the run gave {taken} events and ended with {completion.status}")

    async def runs(self, count: int, at_once: int) -> None:
        """Make `count` runs; a sample is taken where none is under way."""
        backend = self._backend(_RUNS_AGENT)
        made = 0
        for due in self._dues(count)[:-1]:
            numbers = iter(range(made, due))
            async with trio.open_nursery() as nursery:
                for _ in range(at_once):
                    nursery.start_soon(self._work, backend, numbers)
            made = due
            self._sample(due)

    async def _work(self, backend: CodexBackend, numbers: Iterator[int]) -> None:
        for number in numbers:
            # With a schema, for which a run has a temporary directory.
            request = RunRequest(prompt=f"run {number}\n", extensions={"backend.codex.output_schema": {}})
            async with backend.open_run(request) as run:
                events = [event async for event in run.events]
                completion = await run.wait_completed()
            if len(events) != _EVENTS_A_RUN or completion.final_text != f"run {number}, 5":
                raise SystemExit(f"run {number} gave {len(events)} events and ended with {completion.status}")

    def _backend(self, program: str) -> CodexBackend:
        agent = self._folder / "codex"
        agent.write_text(program)
        agent.chmod(0o755)
        config = CodexConfig(binary=str(agent), default_working_dir=str(self._folder))
        return CodexBackend(config, containment=self.containment)

    def _dues(self, count: int) -> list[int]:
        """The counts at which a sample is due, and one that is never reached."""
        return [*sorted({max(1, count * number // _SAMPLES) for number in range(1, _SAMPLES + 1)}), 0]

    def _sample(self, count: int) -> None:
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        kept = sum(thread.name.startswith("Trio thread") for thread in threading.enumerate())
        # Memory as it is; then what is left of it without what only waits to be collected.
        own, resident = int(status["RssAnon"].split()[0]), int(status["VmRSS"].split()[0])
        gc.collect()
        sample = Sample(
            count,
            time.monotonic() - self._began,
            resident,
            own,
            sys.getallocatedblocks(),
            len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - a count is all that is needed
            int(status["Threads"]) - kept,
            trio.lowlevel.current_statistics().tasks_living,
        )
        self.samples.append(sample)
        print(
            f"{sample.count:>10}{sample.seconds:>9.1f}{sample.resident:>9}{sample.own:>9}{sample.blocks:>8}"
            f"{sample.descriptors:>5}{sample.threads:>9}{sample.tasks:>7}",
            flush=True,
        )

    def leftovers(self) -> list[str]:
        """What is still there although every run is over."""
        looks: dict[str, Callable[[], Iterator[object]]] = {
            "processes": _marked_processes,
            "cgroups": lambda: Path("/sys/fs/cgroup").glob(f"**/codex-adapter-{os.getpid()}-*/"),
            "temporary files": self._temporary.iterdir,
        }
        counts = {name: sum(1 for _ in look()) for name, look in looks.items()}
        return [f"{count} {name} are left" for name, count in counts.items() if count]


def _marked_processes() -> Iterator[object]:
    """Processes, children of ours or not, that carry the mark of a run of this process."""
    mark = f"CODEX_ADAPTER_RUN={os.getpid()}-".encode()
    for task in Path("/proc/self/task").iterdir():
        yield from (task / "children").read_text().split()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in environment.read_bytes():
                yield environment


def _slope(samples: list[Sample], what: str) -> str:
    first, last = _quarters(samples)
    between = max(1, _more("count", first, last))
    each = [_more("own", first, last) * 1024 / between, _more("blocks", first, last) / between]
    return f"for each of the {what} {each[0]:+.2f} bytes and {each[1]:+.4f} blocks more"


def _more(name: str, first: list[Sample], last: list[Sample]) -> float:
    before, after = (median(float(getattr(sample, name)) for sample in quarter) for quarter in (first, last))
    return after - before


def _quarters(samples: list[Sample]) -> tuple[list[Sample], list[Sample]]:
    """The first and the last quarter of what follows the warm-up."""
    warm = samples[int(len(samples) * _WARM_UP) :]
    quarter = max(1, len(warm) // 4)
    return warm[:quarter], warm[-quarter:]


if __name__ == "__main__":
    sys.exit(main())
