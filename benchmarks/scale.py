"""Measure many concurrent runs in one process: `python -m benchmarks.scale [--runs N ...] [--seconds S]`.

There are three tables, with one line for each number of runs. *Memory*: the runs are live and idle, after 20 lines of
real work each. The table shows the memory and the descriptors of each further run in this process, and the memory of
its guards. *CPU*: the runs together print a fixed number of lines. The table shows the CPU time of this process for
each event, and that of the other processes of each run from start to end. *Fairness*: one run prints as fast as it can
while the others print lines with time stamps. The table shows the delay of these lines. Then all runs print as fast as
they can. After some seconds, the largest number of events of a run is divided by the smallest. The exit status is 1 if
a further run needs more memory than `--most-kib`.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Final

import trio

from benchmarks.agents import GATED_AGENT, STAMPER
from benchmarks.processes import Memory, children_seconds, descriptors, guards
from benchmarks.streams import make
from codex_adapter import CodexBackend, CodexConfig, RunHandle, RunRequest
from codex_adapter.events import TextPart

__all__ = ["Scale", "main"]

_LINES: Final = 40_000
_LINES_WHEN_IDLE: Final = 20
_STAMP_SECONDS: Final = 0.01
_FIRST_EVENTS: Final = 2

Consume = Callable[[RunHandle, int], Awaitable[None]]


class Scale:
    """One measurement: its agent and its stream in a directory of its own."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds
        (folder / "stream").write_bytes(make("realistic", _LINES).data)
        agent = folder / "codex"
        agent.write_text(GATED_AGENT)
        agent.chmod(0o755)
        self._backend = CodexBackend(CodexConfig(binary=str(agent), default_working_dir=str(folder)))
        self._gate = self._make_gate("gate")
        self._open_gate = os.open(self._gate, os.O_RDWR)
        self._events: list[int] = []

    async def memory(self, numbers: list[int]) -> float:
        """Print the table; the KiB that each further run has cost at the last step."""
        print(f"{'runs':>5}{'KiB':>9}{'KiB a run':>11}{'ms to start':>13}{'fds a run':>11}", end="")
        print(f"{'guards a run':>14}{'share KiB':>11}{'private KiB':>13}")
        each = 0.0
        async with trio.open_nursery() as nursery:
            await self._open(nursery, 1, "idle", _LINES_WHEN_IDLE)  # what the first costs it costs once
            before, live = await self._settled(), 1
            for number in numbers:
                if number <= live:
                    continue
                opened, cpu = descriptors(), time.process_time()
                await self._open(nursery, number - live, "idle", _LINES_WHEN_IDLE)
                after, more = await self._settled(), number - live
                cpu = (time.process_time() - cpu) / more
                each = (after.private - before.private) / more
                held = [Memory.of(pid) for pid in guards()]
                print(f"{number:>5}{after.private:>9}{each:>11.1f}{cpu * 1000:>13.2f}", end="")
                print(f"{(descriptors() - opened) / more:>11.1f}{len(held) / number:>14.1f}", end="")
                shares = [mean(getattr(guard, name) for guard in held or [after]) for name in ("share", "private")]
                print(f"{shares[0]:>11.0f}{shares[1]:>13.0f}", flush=True)
                before, live = after, number
            os.write(self._open_gate, b"\n" * live)
        return each

    async def cpu(self, numbers: list[int]) -> None:
        """Print the table."""
        print(f"\n{'runs':>5}{'events':>9}{'us an event':>13}{'ms a run, its processes':>25}")
        for number in numbers:
            count = _LINES // number
            self._events, others = [], children_seconds()
            async with trio.open_nursery() as nursery:
                await self._open(nursery, number, "some", count)
                spent = time.process_time()
                os.write(self._open_gate, b"\n" * number)
                await self._all_have(count)
                spent = time.process_time() - spent
            events = sum(self._events)
            others = (children_seconds() - others) / number
            print(f"{number:>5}{events:>9}{spent / events * 1e6:>13.2f}{others * 1000:>25.1f}", flush=True)

    async def fairness(self, numbers: list[int]) -> None:
        """Print the table."""
        print(f"\n{'runs':>5}{'quiet ones: ms until at hand, median':>38}{'99%':>7}{'most':>7}", end="")
        print(f"{'given':>7}{'noisy: events a second':>24}{'equal ones: most/least':>24}")
        for number in numbers:
            delays, given, noise = await self._beside_a_noisy_one(number - 1)
            ordered = quantiles(delays, n=100) if len(delays) > 1 else [0.0] * 99
            print(f"{number:>5}{median(ordered):>38.1f}{ordered[-1]:>7.1f}{max(delays, default=0.0):>7.1f}", end="")
            print(f"{given:>7.0%}{noise:>24.0f}{await self._among_equals(number):>24.2f}", flush=True)

    async def _beside_a_noisy_one(self, quiet: int) -> tuple[list[float], float, float]:
        """The milliseconds until a stamped event is at hand, how many of them came, and the others' events a second."""
        delays: dict[int, float] = {}

        async def note(run: RunHandle, _number: int) -> None:
            async for event in run.events:
                assert isinstance(event.data, TextPart)
                delays[int(event.data.item_id or "")] = time.monotonic() * 1000 - int(event.text or "") / 1e6

        gates = [self._make_gate(f"gate-{number}") for number in range(quiet)]
        command = [sys.executable, "-I", "-S", "-c", STAMPER, str(_STAMP_SECONDS), *map(str, gates)]
        self._events = []
        async with trio.open_nursery() as nursery:
            with subprocess.Popen(command, stdout=subprocess.PIPE) as stamper:  # noqa: ASYNC220
                assert stamper.stdout is not None
                stamper.stdout.readline()
                runs = await self._open(nursery, quiet, "stamps", gates=gates, consume=note) if quiet else []
                runs += await self._open(nursery, 1, "flood")
                os.write(self._open_gate, b"\n")
                await trio.sleep(0.5)
                delays.clear()
                noise, began = self._events[-1], time.monotonic()
                await trio.sleep(self._seconds)
                stamper.kill()
                await trio.sleep(0.1)
                seconds = time.monotonic() - began
            noise = self._events[-1] - noise
            _kill(runs)
        sent = max(delays) - min(delays) + 1 if delays else 1
        return list(delays.values()), len(delays) / sent, noise / seconds

    async def _among_equals(self, number: int) -> float:
        """The events of the one that was given most, over those of the one that was given least."""
        self._events = []
        async with trio.open_nursery() as nursery:
            runs = await self._open(nursery, number, "flood")
            os.write(self._open_gate, b"\n" * number)
            await self._all_have(1)
            began = list(self._events)
            await trio.sleep(max(self._seconds, number / 100))
            given = [after - before for before, after in zip(began, self._events, strict=True)]
            _kill(runs)
        return max(given) / max(1, min(given))

    async def _open(
        self,
        nursery: trio.Nursery,
        number: int,
        work: str,
        lines: int = 0,
        *,
        gates: list[Path] | None = None,
        consume: Consume | None = None,
    ) -> list[RunHandle]:
        """Open so many runs, and give them once each has begun; their events are counted unless somebody consumes."""
        send, receive = trio.open_memory_channel[RunHandle](0)
        first = len(self._events)
        self._events += [0] * number

        async def run(place: int) -> None:
            gate = self._gate if gates is None else gates[place]
            names = {"WORK": work, "COUNT": str(lines), "GATE": str(gate), "STREAM": str(self._folder / "stream")}
            async with self._backend.open_run(RunRequest(prompt="x\n", env=names)) as handle:
                for _ in range(_FIRST_EVENTS):
                    await handle.events.receive()
                await send.send(handle)
                await (consume or self._count)(handle, first + place)

        for place in range(number):
            nursery.start_soon(run, place)
        return [await receive.receive() for _ in range(number)]

    async def _count(self, run: RunHandle, number: int) -> None:
        async for _ in run.events:
            self._events[number] += 1

    async def _settled(self) -> Memory:
        """The memory of this process once every event has been taken."""
        await self._all_have(_LINES_WHEN_IDLE)
        gc.collect()
        return Memory.of("self")

    async def _all_have(self, events: int) -> None:
        while min(self._events) < events:  # noqa: ASYNC110 - looked at rarely, counted often
            await trio.sleep(0.01)

    def _make_gate(self, name: str) -> Path:
        path = self._folder / name
        if not path.exists():
            os.mkfifo(path)
        return path


def _kill(runs: list[RunHandle]) -> None:
    for run in runs:
        run.kill()


def main() -> int:
    """Measure, print, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 10, 100, 500], metavar="N", help="runs at once")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long to look at fairness (default: 3)")
    parser.add_argument("--most-kib", type=float, default=150.0, help="that a further run may cost (default: 150)")
    options = parser.parse_args()
    numbers = sorted(set(options.runs))
    with tempfile.TemporaryDirectory() as folder:
        scale = Scale(Path(folder), options.seconds)
        each = trio.run(scale.memory, numbers)
        trio.run(scale.cpu, numbers)
        trio.run(scale.fairness, numbers)
    if each > options.most_kib:
        print(f"FAILED: each further run has cost {each:.0f} KiB")
    return 1 if each > options.most_kib else 0


if __name__ == "__main__":
    sys.exit(main())
