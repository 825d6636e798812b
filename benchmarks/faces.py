"""What is measured: the ceilings, and every face of the adapter, each over the same stream."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec
import trio

from benchmarks.streams import Stream
from codex_adapter import CodexConfig, Event, Pipeline, RunHandle, RunRequest, open_run
from codex_adapter.core.thread_events import DecodedEvent
from codex_adapter.records import encode_events

__all__ = ["FACES", "Measured", "measure"]

_READ_SIZE: Final = 65_536


class Measured(msgspec.Struct, frozen=True):
    """One measurement: CPU seconds, peak memory (of processes of their own only), and what came out.

    `checksum` is of the event records; None where a face does not make them.
    """

    seconds: float
    events: int
    checksum: int | None = None
    peak_mib: float = 0.0


def measure(name: str, stream: Stream, path: Path) -> Measured:
    """One run of a face over the stream, which is also in the file `path`."""
    return FACES[name](stream, path)


def _decode(stream: Stream, _path: Path) -> Measured:
    lines = stream.data.split(b"\n")[:-1]
    decode = msgspec.json.Decoder(DecodedEvent).decode
    start = time.process_time()
    count = 0
    for line in lines:
        try:
            decode(line)
        except msgspec.MsgspecError:
            continue
        count += 1
    return Measured(time.process_time() - start, count)


def _decode_and_encode(stream: Stream, _path: Path) -> Measured:
    lines = stream.data.split(b"\n")[:-1]
    decode = msgspec.json.Decoder(DecodedEvent).decode
    encode = msgspec.json.Encoder().encode
    start = time.process_time()
    count = 0
    for line in lines:
        try:
            encode(decode(line))
        except msgspec.MsgspecError:
            continue
        count += 1
    return Measured(time.process_time() - start, count)


def _pipeline(stream: Stream, _path: Path) -> Measured:
    chunks = [stream.data[start : start + _READ_SIZE] for start in range(0, len(stream.data), _READ_SIZE)]
    pipeline = Pipeline()
    start = time.process_time()
    count = sum(len(pipeline.receive_data(chunk)) for chunk in chunks) + len(pipeline.receive_eof())
    return Measured(time.process_time() - start, count)


def _library(consume: Callable[[RunHandle], Awaitable[tuple[int, int | None]]]) -> Callable[[Stream, Path], Measured]:
    def face(_stream: Stream, path: Path) -> Measured:
        config = CodexConfig(binary=_agent(path))

        async def run() -> tuple[int, int | None]:
            async with open_run(RunRequest(prompt="x"), config=config) as handle:
                result = await consume(handle)
                await handle.wait_completed()
                return result

        start = time.process_time()
        count, checksum = trio.run(run)
        return Measured(time.process_time() - start, count, checksum)

    return face


async def _one_by_one(run: RunHandle) -> tuple[int, int | None]:
    count = 0
    async for _ in run.events:
        count += 1
    return count, None


async def _by_batch(run: RunHandle) -> tuple[int, int | None]:
    count = 0
    while batch := await _next_batch(run):
        count += len(batch)
    return count, None


async def _next_batch(run: RunHandle) -> tuple[Event, ...] | list[Event]:
    try:
        return list(await run.events.receive_batch())
    except trio.EndOfChannel:
        return ()


# The peak memory that the system tells of a child counts what its parent had when it was started: a small parent.
_LAUNCHER: Final = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
os.write(int(sys.argv[1]), b"%f %d" % (usage.ru_utime + usage.ru_stime, usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def _command(*arguments: str) -> Callable[[Stream, Path], Measured]:
    def face(_stream: Stream, path: Path) -> Measured:
        words = [sys.executable, "-m", "codex_adapter", *(word.format(path=path) for word in arguments)]
        environment = {**os.environ, "CODEX_BINARY": _agent(path)}
        with (
            tempfile.TemporaryFile() as usage,
            subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(usage.fileno()), *words],
                stdout=subprocess.PIPE,
                env=environment,
                pass_fds=[usage.fileno()],
            ) as process,
        ):
            assert process.stdout is not None
            count, checksum, last = 0, 0, b""
            for line in process.stdout:
                if last:
                    checksum = zlib.crc32(last, checksum)
                    count += 1
                last = line
            if process.wait() != 0:
                raise SystemExit(f"{' '.join(words)} failed with {process.returncode}")
            usage.seek(0)
            seconds, peak = map(float, usage.read().split())
        return Measured(seconds, count, checksum, peak / 1024)

    return face


def _records(stream: Stream, _path: Path) -> Measured:
    """The records without processes: what the commands must print, and the cost of making it."""
    pipeline = Pipeline()
    chunks = [stream.data[start : start + _READ_SIZE] for start in range(0, len(stream.data), _READ_SIZE)]
    count, checksum = 0, 0
    start = time.process_time()
    for chunk in [*chunks, b""]:
        events = pipeline.receive_data(chunk) if chunk else pipeline.receive_eof()
        checksum = zlib.crc32(encode_events(events), checksum)
        count += len(events)
    return Measured(time.process_time() - start, count, checksum)


def _agent(path: Path) -> str:
    """An agent that prints the stream at the least cost: the CPU time of a command includes its own."""
    agent = path.with_suffix(".agent")
    if not agent.exists():
        agent.write_text(f"#!/bin/sh\nexec cat {path}\n")
        agent.chmod(0o755)
    return str(agent)


FACES: Final[dict[str, Callable[[Stream, Path], Measured]]] = {
    "decode": _decode,
    "decode and encode": _decode_and_encode,
    "pipeline": _pipeline,
    "pipeline and records": _records,
    "library, one by one": _library(_one_by_one),
    "library, by batch": _library(_by_batch),
    "run": _command("run", "x"),
    "replay": _command("replay", "{path}"),
}
