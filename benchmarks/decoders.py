"""Measure the pipeline of each agent beside a typed decode of the same bytes: `python -m benchmarks.decoders`.

Each round measures all of them one after the other, in CPU seconds of this process. A ratio is the time of the typed
decode divided by the other time in the same round; the median over the rounds is printed. The official SDK of an agent
is measured if it is installed: `pip install claude-agent-sdk`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks.streams import make
from codex_adapter import Pipeline
from codex_adapter.agents import agent_of
from codex_adapter.agents.claude.stream.lines import Known
from codex_adapter.agents.codex.stream.lines import DecodedEvent

_READ_SIZE: Final = 65_536
TYPED: Final = "typed decode"


class Measured(NamedTuple):
    """The stream of an agent, the type of its lines, and the module of the official `parse_message`, or None."""

    stream: str
    type_: Any
    parser: str | None = None


AGENTS: Final = {
    "codex": Measured("realistic", DecodedEvent),
    "claude_code": Measured("claude-realistic", Known, "claude_agent_sdk._internal.message_parser"),
}


def main() -> None:
    """Print a table for each agent."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoders", description=__doc__)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    for kind, measured in AGENTS.items():
        stream = make(measured.stream, options.lines)
        ways = _ways(kind, measured, stream.data)
        rounds = [{name: _seconds(way) for name, way in ways.items()} for _ in range(options.rounds)]
        print(f"{kind}: {stream.lines} lines, {len(stream.data) / stream.lines:.0f} bytes a line")
        for name in ways:
            each = statistics.median(seconds[name] for seconds in rounds) / stream.lines * 1e6
            ratio = statistics.median(seconds[TYPED] / seconds[name] for seconds in rounds)
            print(f"  {name:<24}{each:7.2f} us a line  {ratio:5.2f} of the speed of the typed decode")


def _ways(kind: str, measured: Measured, data: bytes) -> dict[str, Callable[[], None]]:
    lines = data.splitlines()
    decode = msgspec.json.Decoder(measured.type_).decode
    ways: dict[str, Callable[[], None]] = {TYPED: lambda: _each(decode, lines), "pipeline": lambda: _pipe(kind, data)}
    if measured.parser is not None:
        try:
            parse = importlib.import_module(measured.parser).parse_message
        except ImportError:
            print(f"{measured.parser.partition('.')[0]} is not installed: it is not measured")
        else:
            ways[measured.parser.partition(".")[0]] = lambda: _each(lambda line: parse(json.loads(line)), lines)
    return ways


def _seconds(way: Callable[[], None]) -> float:
    before = time.process_time()
    way()
    return time.process_time() - before


def _each(parse: Callable[[bytes], object], lines: Sequence[bytes]) -> None:
    for line in lines:
        parse(line)


def _pipe(kind: str, data: bytes) -> None:
    pipeline = Pipeline(agent_of(kind).decoder)
    for start in range(0, len(data), _READ_SIZE):
        pipeline.receive_data(data[start : start + _READ_SIZE])
    pipeline.receive_eof()


if __name__ == "__main__":
    main()
