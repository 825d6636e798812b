"""Count the work from bytes to records, and compare it with recorded counts: `python -m benchmarks.work [--record]`.

Exit with 1 if a count is outside of its limits. `--record` writes the counts to `work.toml`: those of the Python that
runs this, and those that are the same for each Python.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import tomllib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import trio

import codex_adapter
from benchmarks.counting import c_calls, instructions, kept_blocks, peak_bytes
from benchmarks.measuring import CUT_OFF
from benchmarks.streams import make
from codex_adapter import Event, Pipeline, open_replay
from codex_adapter.agents import agent_of
from codex_adapter.cli import main as command_line
from codex_adapter.core.decoder import Decoder
from codex_adapter.core.masking.masker import Masker
from codex_adapter.records import encode_events

__all__ = ["RECORDED", "Figures", "count_all", "count_path", "count_run", "findings", "read", "record", "to_records"]

Figures: TypeAlias = dict[str, float]
"""Counts by name; the name ends in the unit."""

OTHER_AGENTS: Final = {"claude_code": "claude-realistic"}
"""The stream of each further agent, by kind."""

RECORDED: Final = Path(__file__).with_suffix(".toml")
PYTHON: Final = "python{}.{}".format(*sys.version_info)
_LINES: Final = 400
_LINES_OF_A_RUN: Final = 4_000
_READ_SIZE: Final = 65_536

# More: another release of Python, msgspec or trio may change a count by this much, which no time measurement shows.
# Less: a gain must be recorded, so that a later change does not lose it.
_MORE: Final = 1.02
_LESS: Final = 0.90
# Additional slack by unit: work for fewer than one line in a hundred is not on the hot path. The event loop executes
# tasks in random order, so that the number of steps at the beginning and the end of a run varies.
_SLACK: Final = {"a line": 0.01, "a batch": 0.2, "at once": 0.0}


def to_records(
    chunks: Sequence[bytes], *, agent: str = "codex", secrets: tuple[str, ...] = (), full_payloads: bool = False
) -> Iterator[list[Event]]:
    """The path that is counted: a batch at a time, from bytes to events to records."""

    def decoder(masker: Masker) -> Decoder:
        return agent_of(agent).decoder(masker, full_payloads=full_payloads)

    pipeline = Pipeline(decoder, secrets=secrets)
    for chunk in chunks:
        events = pipeline.receive_data(chunk)
        encode_events(events)
        yield events
    events = pipeline.receive_eof()
    encode_events(events)
    yield events


def count_path(path: Callable[[Sequence[bytes]], Iterator[object]], data: bytes) -> tuple[Figures, Counter[str]]:
    """What a path costs for the lines of `data`, and its instructions by function."""
    chunks = [data[start : start + _READ_SIZE] for start in range(0, len(data), _READ_SIZE)]
    lines = data.count(b"\n")

    def take() -> object:
        return deque(path(chunks), maxlen=0)

    take()
    by_function = instructions(take)
    calls = c_calls(take)
    figures = {
        "instructions a line": by_function.total() / lines,
        "calls into C a line": calls.total() / lines,
        "blocks of memory kept a line": kept_blocks(lambda: list(path(chunks))) / lines,
        "KiB of memory at once": peak_bytes(take) / 1024,
        **{f"calls of {name} a line": count / lines for name, count in calls.items() if count * 200 > lines},
    }
    return _rounded(figures), by_function


def count_run(act: Callable[[Path], object], data: bytes) -> tuple[Figures, Counter[str]]:
    """What a run over a recording costs: our own instructions, and what crosses the event loop and the system.

    A batch is what a read of 64 KiB gives. The steps are the least of some runs: their number is a matter of chance.
    """
    # A count of instructions takes long, and a few hundred lines are enough.
    few = b"".join(data.splitlines(keepends=True)[:_LINES])
    batches = len(data) / _READ_SIZE
    with _file(few) as short, _file(data) as long:
        act(short)
        by_function = instructions(lambda: act(short), within=str(Path(codex_adapter.__file__).parent))
        runs = [c_calls(lambda: act(long)) for _ in range(3)]
    figures = {
        "instructions a line": by_function.total() / few.count(b"\n"),
        **{
            f"{what} a batch": min(calls[name] for calls in runs) / batches
            for what, name in (
                ("steps of tasks", "Context.run"),
                ("rounds of the event loop", "epoll.poll"),
                ("reads", "posix.read"),
                ("writes", "posix.write"),
            )
        },
    }
    return _rounded(figures), by_function


def count_all() -> dict[str, tuple[Figures, Counter[str]]]:
    """Every subject by its name, counted."""
    rng = random.Random(20)
    secrets = tuple(rng.randbytes(20).hex() for _ in range(20))
    realistic = make("realistic", _LINES).data
    counted = {name: count_path(to_records, make(name, _LINES).data) for name in ("realistic", "small", "malformed")}
    counted["realistic-secrets"] = count_path(lambda chunks: to_records(chunks, secrets=secrets), realistic)
    counted["realistic-payloads"] = count_path(lambda chunks: to_records(chunks, full_payloads=True), realistic)
    for agent, stream in OTHER_AGENTS.items():
        counted[stream] = count_path(partial(to_records, agent=agent), make(stream, _LINES).data)
    recording = make("realistic", _LINES_OF_A_RUN).data
    counted["library"] = count_run(_one_by_one, recording)
    counted["replay"] = count_run(_replay, recording)
    return counted


def findings(recorded: Mapping[str, float], counted: Mapping[str, float]) -> list[str]:
    """What has left its bounds; the measure of most interest first."""
    found: list[str] = []
    for name in dict.fromkeys([*counted, *recorded]):
        was, now = recorded.get(name, 0.0), counted.get(name, 0.0)
        slack = next(slack for unit, slack in _SLACK.items() if name.endswith(unit))
        if now > was * _MORE + slack:
            found.append(f"more: {was:.2f} -> {now:.2f} {name}")
        elif now < was * _LESS - slack:
            found.append(f"less: {was:.2f} -> {now:.2f} {name}")
    return found


def read(path: Path = RECORDED) -> dict[str, Figures]:
    """The recorded figures of each subject for this Python; none where there are none for it."""
    tables = tomllib.loads(path.read_text()) if path.exists() else {}
    return {name: {**table[PYTHON], **table["every"]} for name, table in tables.items() if PYTHON in table}


def record(counted: Mapping[str, Figures], path: Path = RECORDED) -> None:
    """Make these the recorded figures, and leave those that other Pythons have for themselves."""
    before = tomllib.loads(path.read_text()) if path.exists() else {}
    text = "# Written by `python -m benchmarks.work --record`; the rule is in specs/speed.md.\n"
    for subject, figures in counted.items():
        own = {name: value for name, value in figures.items() if _depends_on_python(name)}
        every = {name: value for name, value in figures.items() if name not in own}
        tables = {**before.get(subject, {}), PYTHON: own, "every": every}
        for python in sorted(tables):
            text += f'\n[{subject}."{python}"]\n'
            text += "".join(f'"{name}" = {value}\n' for name, value in tables[python].items())
    path.write_text(text)


def main() -> int:
    """Count, show, and compare or record; 1 where a count has left its bounds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.work", description=__doc__)
    parser.add_argument("--record", action="store_true", help="record the counts")
    options = parser.parse_args()
    counted = count_all()
    if options.record:
        record({subject: figures for subject, (figures, _) in counted.items()})
    recorded, failed = read(), False
    for subject, (figures, by_function) in counted.items():
        totals = [f"{value:.2f} {name}" for name, value in figures.items() if not name.startswith("calls of")]
        print(f"{subject}: {'; '.join(totals)}")
        if found := findings(recorded[subject], figures) if subject in recorded else [f"none recorded for {PYTHON}"]:
            failed = True
            total = by_function.total()
            most = ", ".join(f"{name} {count / total:.0%}" for name, count in by_function.most_common(8))
            print("\n".join(f"    {line}" for line in [*found, f"most instructions are in {most}"]))
    if failed:
        print(_ADVICE)
    return int(failed)


_ADVICE: Final = """
The work for each line has changed. Remove additional work. If it is necessary, or if the work is less now, record the
new counts with each Python that the package supports, and describe the change in the commit:
python -m benchmarks.work --record
"""


def _depends_on_python(name: str) -> bool:
    """Calls and I/O stand in the source; what they are compiled to, and the size of objects, is the interpreter's."""
    return name.startswith(("instructions", "blocks", "KiB"))


def _rounded(figures: Figures) -> Figures:
    return {name: round(value, 3 if name.endswith("a line") else 1) for name, value in figures.items()}


@contextmanager
def _file(data: bytes) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        yield Path(file.name)


def _one_by_one(path: Path) -> None:
    async def run() -> None:
        async with open_replay(path) as handle:
            async for _ in handle.events:
                pass
            await handle.wait_completed()

    trio.run(run)


def _replay(path: Path) -> None:
    with _standard_output_to(os.devnull):
        if command_line(["replay", str(path)]) not in (0, CUT_OFF):
            raise SystemExit("The replay failed. Read its messages above.")


@contextmanager
def _standard_output_to(path: str) -> Iterator[None]:
    sys.stdout.flush()
    kept, there = os.dup(1), os.open(path, os.O_WRONLY)
    try:
        os.dup2(there, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(there)


if __name__ == "__main__":
    sys.exit(main())
