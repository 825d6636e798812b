"""Test that the hot path does no additional work, by counts of steps, and that the counter detects added work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
import trio

from benchmarks.streams import make
from benchmarks.work import RECORDED, Figures, count_path, count_run, findings, read, record, to_records
from codex_adapter import RunHandle, open_replay

pytestmark = pytest.mark.rule("V2")

ROOT = Path(__file__).parents[2]
DATA = make("realistic", 100).data
RECORDING = make("realistic", 2_000).data


def test_the_hot_path_works_no_more_for_a_line_than_is_recorded() -> None:
    # A process of its own, in which nothing else has been done and nobody looks on.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}
    command = [sys.executable, "-m", "benchmarks.work"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"


def test_counts_are_recorded_for_each_supported_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    supported = set(re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"])))
    for subject, tables in tomllib.loads(RECORDED.read_text()).items():
        assert {name.removeprefix("python") for name in tables if name != "every"} == supported, subject


@pytest.fixture(scope="module")
def plain_path() -> Figures:
    return count_path(to_records, DATA)[0]


def searching_each_line(chunks: Sequence[bytes]) -> Iterator[object]:
    for chunk in chunks:
        for line in chunk.split(b"\n"):
            re.compile(b"sk-[a-z]+").search(line)
    yield from to_records(chunks)


def looping_over_events(chunks: Sequence[bytes]) -> Iterator[object]:
    for batch in to_records(chunks):
        for event in batch:
            if event.seq < 0:
                raise AssertionError
        yield batch


def copying_bytes(chunks: Sequence[bytes]) -> Iterator[object]:
    yield from to_records([bytes(bytearray(chunk)) for chunk in chunks])


def keeping_an_object_more(chunks: Sequence[bytes]) -> Iterator[object]:
    for batch in to_records(chunks):
        yield [(event, object()) for event in batch]


@pytest.mark.parametrize(
    ("path", "finding"),
    [
        (searching_each_line, r"more: 0\.00 -> 1\.\d\d calls of Pattern\.search a line"),
        (looping_over_events, r"more: \S+ -> \S+ instructions a line"),
        (copying_bytes, r"more: \S+ -> \S+ KiB of memory at once"),
        (keeping_an_object_more, r"more: \S+ -> \S+ blocks of memory kept a line"),
    ],
    ids=["a search in each line", "a loop over the events", "a copy of the bytes", "an object kept with each event"],
)
def test_work_added_to_the_path_is_found(
    plain_path: Figures, path: Callable[[Sequence[bytes]], Iterator[object]], finding: str
) -> None:
    slower, _ = count_path(path, DATA)
    assert [line for line in findings(plain_path, slower) if re.fullmatch(finding, line)] != []


def test_the_same_work_is_counted_the_same(plain_path: Figures) -> None:
    again, _ = count_path(to_records, DATA)
    assert findings(plain_path, again) == findings(again, plain_path) == []
    assert again["instructions a line"] == plain_path["instructions a line"]


def replay(path: Path, *, checkpoints: int = 0, bytes_written: int = 0) -> None:
    async def run() -> None:
        async with open_replay(path) as handle:
            while await a_batch(handle):
                for _ in range(checkpoints):
                    await trio.lowlevel.checkpoint()
                for _ in range(bytes_written):
                    os.write(nowhere, b"x")
            await handle.wait_completed()

    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        trio.run(run)
    finally:
        os.close(nowhere)


async def a_batch(run: RunHandle) -> bool:
    try:
        await run.events.receive_batch()
    except trio.EndOfChannel:
        return False
    return True


def test_work_added_to_a_run_is_found() -> None:
    plain, _ = count_run(replay, RECORDING)
    slower, _ = count_run(partial(replay, checkpoints=3, bytes_written=1), RECORDING)
    more = {line.split(maxsplit=4)[4] for line in findings(plain, slower)}
    assert more == {"steps of tasks a batch", "rounds of the event loop a batch", "writes a batch"}


def test_a_little_more_is_borne_and_a_gain_must_be_recorded() -> None:
    recorded = {"instructions a line": 100.0, "writes a batch": 1.0, "calls of len a line": 0.0}
    assert findings(recorded, {**recorded, "instructions a line": 102.0, "writes a batch": 1.2}) == []
    assert findings(recorded, {**recorded, "instructions a line": 103.0}) == [
        "more: 100.00 -> 103.00 instructions a line"
    ]
    assert findings(recorded, {**recorded, "calls of len a line": 0.02}) == ["more: 0.00 -> 0.02 calls of len a line"]
    assert findings(recorded, {**recorded, "instructions a line": 91.0}) == []
    assert findings(recorded, {**recorded, "instructions a line": 89.0}) == [
        "less: 100.00 -> 89.00 instructions a line"
    ]


def test_what_is_recorded_is_read_again_and_leaves_other_pythons_theirs(tmp_path: Path) -> None:
    path = tmp_path / "work.toml"
    other = '[realistic."python2.7"]\n"instructions a line" = 7.5\n[realistic.every]\n"calls of len a line" = 9.0\n'
    path.write_text(other)
    assert read(path) == {}
    figures = {"instructions a line": 12.25, "calls of Pattern.search a line": 0.5}
    record({"realistic": figures}, path)
    assert read(path) == {"realistic": figures}
    tables = tomllib.loads(path.read_text())["realistic"]
    assert tables["python2.7"] == {"instructions a line": 7.5}
    assert tables["every"] == {"calls of Pattern.search a line": 0.5}


def test_the_stages_that_valgrind_looks_at_can_be_run() -> None:
    command = [sys.executable, "-m", "benchmarks.instructions", "malformed", "--lines", "300", "--under-valgrind"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_valgrind_the_other_way_to_count_is_named() -> None:
    command = [sys.executable, "-m", "benchmarks.instructions"]
    done = subprocess.run(command, cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "python -m benchmarks.work" in done.stderr
