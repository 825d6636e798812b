"""Measure the ceilings and each interface of the adapter over the same stream."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Awaitable, Callable, Sequence
from typing import IO, Final

import msgspec
import trio

from benchmarks.bare import bare_events
from benchmarks.measuring import CUT_OFF, Face, Measured, Work, agent, cpu_seconds, run_measured
from codex_adapter import CodexConfig, Event, RunHandle, RunRequest, codex_pipeline, open_run
from codex_adapter.agents.codex.stream.lines import DecodedEvent
from codex_adapter.records import encode_events

__all__ = ["CEILINGS", "FACES", "IN_PROCESS"]

_READ_SIZE: Final = 65_536
_RUN_EVENT: Final = b'{"jsonrpc":"2.0","method":"run/event"'


class _Tally:
    """Counts events, and where they are to be checked makes the checksum of their records."""

    def __init__(self, work: Work) -> None:
        self.count = 0
        self.checksum = 0 if work.check else None

    def take(self, events: Sequence[Event]) -> None:
        self.count += len(events)
        if self.checksum is not None:
            self.checksum = zlib.crc32(encode_events(events), self.checksum)

    def measured(self, seconds: float) -> Measured:
        return Measured(seconds, self.count, self.checksum)


def _decode(work: Work) -> Measured:
    """The typed decode: no adapter can do with less."""
    lines = work.path.read_bytes().split(b"\n")[:-1]
    decode = msgspec.json.Decoder(DecodedEvent).decode
    count = 0
    with cpu_seconds() as spent:
        for line in lines:
            try:
                decode(line)
            except msgspec.MsgspecError:
                continue
            count += 1
    return Measured(spent.total, count)


def _decode_and_encode(work: Work) -> Measured:
    """The typed decode, and the same line made again of it."""
    lines = work.path.read_bytes().split(b"\n")[:-1]
    decode = msgspec.json.Decoder(DecodedEvent).decode
    encode = msgspec.json.Encoder().encode
    count = 0
    with cpu_seconds() as spent:
        for line in lines:
            try:
                encode(decode(line))
            except msgspec.MsgspecError:
                continue
            count += 1
    return Measured(spent.total, count)


def _cat(work: Work) -> Measured:
    """The pipe alone: the agent, and a reader that looks at nothing."""
    with (
        cpu_seconds() as spent,
        subprocess.Popen([agent(work.path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0) as process,
    ):
        assert process.stdout is not None
        while process.stdout.read(_READ_SIZE):
            pass
    return Measured(spent.total)


def _chunks(work: Work) -> list[bytes]:
    data = work.path.read_bytes()
    return [data[start : start + _READ_SIZE] for start in range(0, len(data), _READ_SIZE)]


def _pipeline(work: Work) -> Measured:
    chunks, pipeline, tally = _chunks(work), codex_pipeline(), _Tally(work)
    with cpu_seconds() as spent:
        for chunk in chunks:
            tally.take(pipeline.receive_data(chunk))
        tally.take(pipeline.receive_eof())
    return tally.measured(spent.total)


def _records(work: Work) -> Measured:
    """The records without processes: the cost of making what the commands print."""
    chunks, pipeline, tally = _chunks(work), codex_pipeline(), _Tally(work)
    with cpu_seconds() as spent:
        for chunk in [*chunks, b""]:
            events = pipeline.receive_data(chunk) if chunk else pipeline.receive_eof()
            encode_events(events)
            tally.take(events)
    return tally.measured(spent.total)


def _library(consume: Callable[[RunHandle, _Tally], Awaitable[None]]) -> Face:
    def face(work: Work) -> Measured:
        config = CodexConfig(binary=agent(work.path))
        tally = _Tally(work)

        async def run() -> None:
            async with open_run(RunRequest(prompt="x"), config=config) as handle:
                await consume(handle, tally)
                await handle.wait_completed()

        with cpu_seconds() as spent:
            trio.run(run)
        return tally.measured(spent.total)

    return face


async def _one_by_one(run: RunHandle, tally: _Tally) -> None:
    if tally.checksum is not None:
        async for event in run.events:
            tally.take([event])
        return
    count = 0
    async for _ in run.events:
        count += 1
    tally.count = count


async def _by_batch(run: RunHandle, tally: _Tally) -> None:
    while batch := await _next_batch(run):
        tally.take(batch)


async def _next_batch(run: RunHandle) -> Sequence[Event]:
    try:
        return await run.events.receive_batch()
    except trio.EndOfChannel:
        return ()


def _command(*arguments: str) -> Face:
    """A command of the adapter, its records read from a pipe; they are checked every time, outside of its time."""

    def face(work: Work) -> Measured:
        words = [sys.executable, "-m", "codex_adapter", *(word.format(path=work.path) for word in arguments)]
        count, checksum = 0, 0

        def read(stdout: IO[bytes]) -> None:
            nonlocal count, checksum
            last = b""
            for line in stdout:
                if last:
                    checksum = zlib.crc32(last, checksum)
                    count += 1
                last = line

        usage = run_measured(words, {**os.environ, "CODEX_BINARY": agent(work.path)}, read)
        if usage.status not in (0, CUT_OFF):
            raise SystemExit(f"{' '.join(words)} failed with {usage.status}")
        return Measured(usage.seconds, count, checksum, usage.peak_mib)

    return face


def _serve(work: Work) -> Measured:
    """A daemon with one run, its notifications read from a pipe, and checked every time, outside of its time."""
    start = {"agentKind": "codex", "request": {"prompt": "x"}}
    calls = [("initialize", {"protocolVersion": "1.0"}), ("run/start", start)]
    requests = [{"jsonrpc": "2.0", "id": name, "method": name, "params": params} for name, params in calls]
    words = [sys.executable, "-m", "codex_adapter", "serve", "--on-eof", "drain"]
    count, checksum = 0, 0

    def read(stdout: IO[bytes]) -> None:
        nonlocal count, checksum
        for line in stdout:
            event = line.find(b'"event":{') + len(b'"event":')
            if line.startswith(_RUN_EVENT):
                checksum = zlib.crc32(line[event : -len(b"}}\n")] + b"\n", checksum)
                count += 1

    environment = {**os.environ, "CODEX_BINARY": agent(work.path)}
    usage = run_measured(words, environment, read, stdin=msgspec.json.Encoder().encode_lines(requests))
    if usage.status != 0:
        raise SystemExit(f"serve failed with {usage.status}")
    return Measured(usage.seconds, count, checksum, usage.peak_mib)


CEILINGS: Final[dict[str, Face]] = {
    "decode": _decode,
    "decode and encode": _decode_and_encode,
    "bare events": bare_events,
    "cat": _cat,
}

IN_PROCESS: Final[dict[str, Face]] = {
    "pipeline": _pipeline,
    "pipeline and records": _records,
    "library, async for": _library(_one_by_one),
    "library, receive_batch": _library(_by_batch),
}

FACES: Final[dict[str, Face]] = {
    **IN_PROCESS,
    "run": _command("run", "x"),
    "serve": _serve,
    "replay": _command("replay", "{path}"),
}
