"""Measure many runs of one daemon: `python -m benchmarks.daemon [--runs N ...] [--seconds S]`.

*CPU*: the runs together print a fixed number of lines, which are read without delay. The table shows the daemon's CPU
time for each event, and its events per CPU second in relation to those of a single run. Each event arrives once and in
order. *Memory*: the table shows the memory of each further live run, idle after 20 lines of work, and again while it
prints as fast as it can and no process reads. *Latency*: one of some quiet runs prints a line while another run prints
as fast as it can. The table shows the time until the line is read here.
"""

from __future__ import annotations

import argparse
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

import msgspec

from benchmarks.agents import GATED_AGENT, STAMPER
from benchmarks.processes import Memory, thread_seconds
from benchmarks.streams import make

__all__ = ["main"]

_LINES: Final = 100_000
_LEAST_LINES: Final = 2_000
_LINES_WHEN_IDLE: Final = 20
_FIRST_EVENTS: Final = 2
_STAMP_SECONDS: Final = 0.01
_PATIENCE: Final = 120.0
_READ_SIZE: Final = 1024 * 1024


class _Told(msgspec.Struct, rename="camel"):
    run_id: str
    seq: int
    event: msgspec.Raw = msgspec.Raw()


class _Message(msgspec.Struct):
    id: int | None = None
    error: Any = None
    method: str = ""
    params: _Told | None = None


class _Text(msgspec.Struct):
    text: str = ""


class Daemon:
    """A daemon and its supervisor, which sees that each run's events come once, in order, and before its completion."""

    def __init__(self, folder: Path, *options: str) -> None:
        words = [sys.executable, "-m", "codex_adapter", "serve", "--codex", str(folder / "codex"), *options]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, cwd=folder)
        self.events: dict[str, int] = {}
        self.completed = 0
        self._folder = folder
        self._rest = b""
        self._decode = msgspec.json.Decoder(_Message).decode
        self._ask("initialize", {"protocolVersion": "1.0"})

    def start(self, number: int, work: str, lines: int = 0, gates: list[Path] | None = None) -> None:
        """Start so many runs, and return once each has begun."""
        for place in range(number):
            name = f"run-{len(self.events)}"
            self.events[name] = 0
            gate = self._folder / "gate" if gates is None else gates[place]
            env = {"WORK": work, "COUNT": str(lines), "GATE": str(gate), "STREAM": str(self._folder / "stream")}
            request = {"prompt": "x\n", "env": env, "working_dir": str(self._folder)}
            self._ask("run/start", {"runId": name, "agentKind": "codex", "request": request})
        self.read_until(lambda: min(self.events.values()) >= _FIRST_EVENTS)

    def read_until(self, enough: Callable[[], bool], note: Callable[[float, bytes], None] | None = None) -> None:
        """Take what comes until it is enough; `note` is given the time and the event of each."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + _PATIENCE
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not enough():
                if time.monotonic() > deadline:
                    raise SystemExit(f"the daemon says nothing more: {self.events}")
                if not selector.select(0.05):
                    continue
                self._take_all(os.read(self.process.stdout.fileno(), _READ_SIZE), note)

    def all_completed(self) -> bool:
        """Whether each run has been completed."""
        return self.completed == len(self.events)

    def read_lines(self, count: int) -> float:
        """Take that many lines as fast as they come, then look at them; the CPU seconds of the daemon in between."""
        assert self.process.stdout is not None
        pieces: list[bytes] = []
        while count > 0:
            pieces.append(os.read(self.process.stdout.fileno(), _READ_SIZE))
            if not pieces[-1]:
                raise SystemExit("the daemon has ended")
            count -= pieces[-1].count(b"\n")
        spent = thread_seconds(self.process.pid)
        self._take_all(b"".join(pieces), None)
        return spent

    def close(self) -> None:
        """Leave it, and see that it ends in order."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.read_until(self.all_completed)
        if self.process.wait(_PATIENCE) != 0:
            raise SystemExit("the daemon failed")

    def _take_all(self, data: bytes, note: Callable[[float, bytes], None] | None) -> None:
        now = time.monotonic() * 1000
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._take(self._decode(line), now, note)

    def _take(self, message: _Message, now: float, note: Callable[[float, bytes], None] | None) -> None:
        if message.error is not None:
            raise SystemExit(f"the daemon has refused: {message.error}")
        if message.params is None:
            return
        told = message.params
        if told.seq != self.events[told.run_id]:
            raise SystemExit(f"{told.run_id}: {told.seq} came where {self.events[told.run_id]} was due")
        if message.method == "run/completed":
            self.completed += 1
        else:
            self.events[told.run_id] += 1
            if note is not None:
                note(now, bytes(told.event))

    def _ask(self, method: str, params: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(msgspec.json.encode(message) + b"\n")


class Bench:
    """The measurements: agent, stream and gates in a folder of their own."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds
        (folder / "stream").write_bytes(make("realistic", _LINES).data)
        (folder / "codex").write_text(GATED_AGENT)
        (folder / "codex").chmod(0o755)
        os.mkfifo(folder / "gate")
        self._gate = os.open(folder / "gate", os.O_RDWR)

    def cpu(self, numbers: list[int]) -> float:
        """Print the table; the least share of what one run alone gets."""
        print(f"{'runs':>5}{'events':>9}{'us an event':>13}{'events a CPU second':>21}{'of one run':>12}")
        alone, least = 0.0, 1.0
        for number in sorted({1, *numbers}):
            count = max(_LINES // number, _LEAST_LINES)
            with self._daemon("--max-runs", str(number)) as daemon:
                daemon.start(number, "some", count)
                before, spent = sum(daemon.events.values()), thread_seconds(daemon.process.pid)
                os.write(self._gate, b"\n" * number)
                spent = daemon.read_lines(number * (count + 1)) - spent
                events = sum(daemon.events.values()) - before
            alone = alone or events / spent
            least = min(least, events / spent / alone)
            print(f"{number:>5}{events:>9}{spent / events * 1e6:>13.2f}{events / spent:>21.0f}", end="")
            print(f"{events / spent / alone:>12.2f}", flush=True)
        return least

    def memory(self, numbers: list[int]) -> float:
        """Print the table; the most KiB of a further run."""
        print(f"\n{'runs':>5}{'KiB':>9}{'KiB a run, idle':>17}{'KiB a run, unread':>19}", flush=True)
        most, with_one, unread_one = 0.0, 0, 0
        for number in sorted({1, *numbers}):
            with self._daemon("--max-runs", str(number)) as daemon:
                daemon.start(number, "idle", _LINES_WHEN_IDLE)
                daemon.read_until(lambda: min(daemon.events.values()) > _LINES_WHEN_IDLE)
                idle = Memory.of(daemon.process.pid).private
                os.write(self._gate, b"\n" * number)
                daemon.read_until(daemon.all_completed)
            with self._daemon("--max-runs", str(number)) as daemon:
                daemon.start(number, "flood")
                os.write(self._gate, b"\n" * number)
                time.sleep(1 + number / 100)
                unread = Memory.of(daemon.process.pid).private
            with_one, unread_one = with_one or idle, unread_one or unread
            further = max(number - 1, 1)
            each, each_unread = (idle - with_one) / further, (unread - unread_one) / further
            most = max(most, each, each_unread)
            print(f"{number:>5}{idle:>9}{each:>17.1f}{each_unread:>19.1f}", flush=True)
        return most

    def latency(self, quiet: int) -> float:
        """Print the distribution; its median in milliseconds."""
        delays: list[float] = []

        def note(now: float, event: bytes) -> None:
            if b'"agent_message"' in event and b'"text":"' in event:
                stamp = msgspec.json.decode(event, type=_Text).text
                if stamp.isdecimal():
                    delays.append(now - int(stamp) / 1e6)

        gates = [self._folder / f"gate-{number}" for number in range(quiet)]
        for gate in gates:
            os.mkfifo(gate)
        command = [sys.executable, "-I", "-S", "-c", STAMPER, str(_STAMP_SECONDS), *map(str, gates)]
        with self._daemon("--max-runs", str(quiet + 1)) as daemon, subprocess.Popen(command) as stamper:
            daemon.start(quiet, "stamps", gates=gates)
            daemon.start(1, "flood")
            os.write(self._gate, b"\n")
            for seconds in (0.5, self._seconds):
                delays.clear()
                noise, until = daemon.events[f"run-{quiet}"], time.monotonic() + seconds
                daemon.read_until(lambda until=until: time.monotonic() > until, note)  # type: ignore[misc]
            noise = daemon.events[f"run-{quiet}"] - noise
            stamper.kill()
        ordered = quantiles(delays, n=100)
        print(
            f"\n{quiet} quiet runs beside one of {noise / self._seconds:.0f} events a second, {len(delays)} lines:",
            end="",
        )
        print(f" ms at the median {ordered[49]:.2f}, 90 % {ordered[89]:.2f}, 99 % {ordered[98]:.2f}", end="")
        print(f", most {max(delays):.2f}")
        return ordered[49]

    @contextmanager
    def _daemon(self, *options: str) -> Iterator[Daemon]:
        daemon = Daemon(self._folder, *options)
        try:
            yield daemon
            daemon.close()
        finally:
            daemon.process.kill()
            daemon.process.wait()


def main() -> int:
    """Measure, print, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.daemon", description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 10, 100, 500], metavar="N", help="runs at once")
    parser.add_argument(
        "--quiet", type=int, default=50, metavar="N", help="quiet runs beside a noisy one (default: 50)"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to look at latency (default: 5)")
    parser.add_argument("--only", choices=("cpu", "memory", "latency"), help="one of the three")
    options = parser.parse_args()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.seconds)
        if options.only in (None, "cpu") and (share := bench.cpu(options.runs)) < 0.7:
            failures.append(f"{share:.2f} of one run's events for the same CPU time; at least 0.7 are due")
        if options.only in (None, "memory") and (most := bench.memory(options.runs)) > 200:
            failures.append(f"a further run has cost {most:.0f} KiB; 200 are allowed")
        if options.only in (None, "latency") and (median := bench.latency(options.quiet)) > 1:
            failures.append(f"a line took {median:.2f} ms at the median; 1 is allowed")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
