"""Test that an agent that prints a recording again yields the same bytes as its replay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest
import trio

from codex_adapter import BackendError, CodexConfig, Completion, RunHandle, RunRequest, open_replay, open_run
from codex_adapter.events import ExitStatus
from codex_adapter.records import encode_completion, encode_events
from codex_adapter.testing import Die, Exit, PrintFile, ReadPrompt

from ..cli.command import Cli
from ..rows import rows
from ..waiting import SOON

CODEX: Final = Path(__file__).parents[2] / "fixtures" / "codex"
AT_ONCE: Final = 8
# What PrintFile prints, by a program that starts ten times as fast.
PRINTER: Final = """#!/bin/sh
cat > /dev/null
cat "$RECORDING"
case $RETURNCODE in
-*) kill "$RETURNCODE" $$ ;;
*) exit "$RETURNCODE" ;;
esac
"""


class Recording(NamedTuple):
    """Standard output of a real run, and its return code, negative for a signal."""

    path: Path
    returncode: int

    @property
    def exit_status(self) -> str:
        """As `--exit-status` takes it."""
        status = ExitStatus.from_returncode(self.returncode)
        return str(status.code) if status.signal is None else status.signal


def _recordings() -> Iterator[Recording]:
    for row in (CODEX / "index.jsonl").read_text().splitlines():
        run = json.loads(row)
        yield Recording(CODEX / run["version"] / f"{run['scenario']}.jsonl", run["returncode"])


def _by_release(recording: Recording) -> list[int]:
    return [int(part) for part in recording.path.parent.name.split(".")]


RECORDINGS: Final = {
    version: list(recordings)
    for version, recordings in groupby(sorted(_recordings(), key=_by_release), lambda it: it.path.parent.name)
}
"""By release, the newest last."""


async def records(opening: AbstractAsyncContextManager[RunHandle]) -> bytes:
    """What the command line writes of a run."""
    written, seq = b"", 0
    async with opening as run:
        async for event in run.events:
            written += encode_events([event])
            seq += 1
        try:
            outcome: Completion | BackendError = await run.wait_completed()
        except BackendError as error:
            outcome = error
    return written + encode_completion(seq, outcome)


@pytest.mark.rule("Y1", "F2", "F3", "L5", "W1", "W2")
@pytest.mark.parametrize("one_in", [8, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("version", RECORDINGS)
async def test_a_live_run_gives_the_bytes_of_its_replay(tmp_path: Path, version: str, one_in: int) -> None:
    binary = tmp_path / "codex"
    binary.write_text(PRINTER)
    binary.chmod(0o755)
    config, places = CodexConfig(binary=str(binary)), trio.CapacityLimiter(AT_ONCE)
    different: list[str] = []

    async def compare(recording: Recording) -> None:
        env = {"RECORDING": str(recording.path), "RETURNCODE": str(recording.returncode)}
        request = RunRequest(prompt="Do it again.", env=env)
        async with places:
            live = await records(open_run(request, config=config))
        replayed = await records(open_replay(str(recording.path), exit_status=recording.returncode))
        if live != replayed or not live:
            different.append(recording.path.stem)

    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            # Another eighth of each release, so that together they are of all kinds.
            for recording in RECORDINGS[version][list(RECORDINGS).index(version) % one_in :: one_in]:
                nursery.start_soon(compare, recording)
    assert different == []


def _sample() -> Iterator[Recording]:
    """Yield a run of the newest release that failed, one that was killed, and one of each release that went well."""
    newest, *others = reversed(RECORDINGS.values())
    yield next(recording for recording in newest if recording.returncode > 0)
    yield next(recording for recording in newest if recording.returncode < 0)
    for recordings in (newest, *others):
        yield [recording for recording in recordings if recording.returncode == 0][-1]


@pytest.mark.rule("Y1", "C1", "C2", "E1")
@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(
            recording,
            id=f"{recording.path.parent.name}-{recording.path.stem}",
            marks=() if number < 2 or number % 4 == 2 else pytest.mark.nightly,
        )
        for number, recording in enumerate(_sample())
    ],
)
def test_the_command_run_writes_the_bytes_of_the_command_replay(cli: Cli, recording: Recording) -> None:
    last = Exit(recording.returncode) if recording.returncode >= 0 else Die(recording.exit_status)
    agent = cli.agent(ReadPrompt(), PrintFile(str(recording.path), piece=1_021), last)
    live = cli.run("run", "--codex", agent, "Do it again.")
    replayed = cli.run("replay", "--exit-status", recording.exit_status, str(recording.path))
    assert live == replayed
    assert live.completion["outcome"] == "completed"


@pytest.mark.rule("T1", "T4", "M0", "M8", "S8")
@rows("version", RECORDINGS)
async def test_nothing_that_a_supported_release_prints_is_unknown_or_an_error_of_ours(version: str) -> None:
    strange: list[tuple[str, Any]] = []
    for recording in RECORDINGS[version]:
        async with open_replay(str(recording.path)) as run:
            events = [event async for event in run.events]
        strange += [
            (recording.path.stem, msgspec.to_builtins(event))
            for event in events
            if event.kind == "unknown" or (event.kind == "error" and event.data is None)
        ]
    assert strange == []


@pytest.mark.rule("Y1")
def test_every_recording_is_looked_at() -> None:
    files = {path for path in CODEX.glob("*/*.jsonl") if not path.name.endswith(".events.jsonl")}
    assert {recording.path for recordings in RECORDINGS.values() for recording in recordings} == files
    assert len(files) > 400
