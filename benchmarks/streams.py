"""Generate streams for measurements: lines as the real CLI prints them, in realistic proportions, from a fixed seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from benchmarks.claude_stream import claude_realistic

__all__ = ["MOST_BYTES_A_LINE", "STREAMS", "Stream", "make", "shortest"]

MOST_BYTES_A_LINE: Final = 500
"""A stream has fewer lines than were asked for where they would be longer than this on average, so that all streams
are of similar size."""

_THREAD = "01a20018-057d-7ce3-b0c7-a173a1ba2c6a"
_WORDS = re.findall(
    r"\w+",
    "the build fails because the module imports before the config is read so I will move it and run the tests again "
    "then look at what changed in the parser and whether the cache key still holds for nested values of this type",
)
_COMMANDS = ("ls -la src", "git status --short", "pytest -q tests/test_parser.py", "sed -n '1,80p' src/config.py")
_LONGEST_OUTPUT = 150
_encode = msgspec.json.encode


class Stream(msgspec.Struct, frozen=True):
    """A stream's bytes, and how many lines they are."""

    name: str
    data: bytes
    lines: int


def _prose(rng: random.Random, low: int, high: int) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(low, high))).capitalize() + "."


def _output_line(rng: random.Random) -> str:
    """What commands print: code, its diagnostics and words, with the quotes and tabs that JSON must escape."""
    kind = rng.randrange(4)
    if kind == 0:
        return f'    {rng.choice(_WORDS)} = self._cache["{rng.choice(_WORDS)}"]'
    if kind == 1:
        return f"src/{rng.choice(_WORDS)}.py:{rng.randint(1, 400)}:\t{_prose(rng, 2, 8)}"
    return _prose(rng, 3, 12)


def _item(kind: str, number: int, item_type: str, **fields: Any) -> bytes:
    return _encode({"type": f"item.{kind}", "item": {"id": f"item_{number}", "type": item_type, **fields}})


def _command(rng: random.Random, number: int, output: str) -> Iterator[bytes]:
    command = f"/bin/bash -lc '{rng.choice(_COMMANDS)}'"
    code = int(rng.random() < 0.1)
    yield _item(
        "started", number, "command_execution", command=command, aggregated_output="", exit_code=None,
        status="in_progress",
    )  # fmt: skip
    yield _item(
        "completed", number, "command_execution", command=command, aggregated_output=output, exit_code=code,
        status="failed" if code else "completed",
    )  # fmt: skip


def _realistic(rng: random.Random) -> Iterator[bytes]:
    """The output of a working agent: half commands, a third reasoning and messages, the rest patches, plans and tools.

    Most commands print little, and few print much. A line has 318 bytes on average, as measured in real use.
    """
    yield _encode({"type": "thread.started", "thread_id": _THREAD})
    number = -1
    while True:
        yield b'{"type":"turn.started"}'
        plan = number = number + 1
        yield _item("started", plan, "todo_list", items=_plan(rng, 0))
        for step in range(12):
            number += 1
            yield _item("completed", number, "reasoning", text=f"**{_prose(rng, 3, 5)}**\n\n{_prose(rng, 10, 40)}")
            for _ in range(2 - step % 2):
                number += 1
                count = min(_LONGEST_OUTPUT, 1 + int(rng.expovariate(1 / 12)))
                yield from _command(rng, number, "\n".join(_output_line(rng) for _ in range(count)))
            number += 1
            yield _item("completed", number, "agent_message", text=_prose(rng, 8, 40))
            if step % 3 == 0:
                number += 1
                path = f"/workspace/src/module_{rng.randint(1, 30)}.py"
                change = [{"path": path, "kind": "update"}]
                yield _item("started", number, "file_change", changes=change, status="in_progress")
                yield _item("completed", number, "file_change", changes=change, status="completed")
            if step % 4 == 3:
                yield _item("updated", plan, "todo_list", items=_plan(rng, step // 4 + 1))
        number += 1
        result = {"content": [{"type": "text", "text": _prose(rng, 20, 40)}], "structured_content": None}
        call = {"server": "docs", "tool": "search", "arguments": {"query": "config"}}
        yield _item("started", number, "mcp_tool_call", **call, result=None, error=None, status="in_progress")
        yield _item("completed", number, "mcp_tool_call", **call, result=result, error=None, status="completed")
        yield _item("completed", plan, "todo_list", items=_plan(rng, 3))
        usage = {"input_tokens": 81_234, "cached_input_tokens": 60_160, "output_tokens": 912}
        more = {"cache_write_input_tokens": 0, "reasoning_output_tokens": 320}
        yield _encode({"type": "turn.completed", "usage": {**usage, **more}})


def _plan(rng: random.Random, done: int) -> list[dict[str, Any]]:
    return [{"text": _prose(rng, 3, 8), "completed": step < done} for step in range(3)]


def _small(rng: random.Random) -> Iterator[bytes]:
    """Only short messages."""
    yield _encode({"type": "thread.started", "thread_id": _THREAD})
    number = 0
    while True:
        number += 1
        yield _item("completed", number, "agent_message", text=_prose(rng, 1, 6))


def _large(rng: random.Random) -> Iterator[bytes]:
    """Commands that print one megabyte each. Every other line is the start of a command."""
    yield _encode({"type": "thread.started", "thread_id": _THREAD})
    block = "\n".join(_output_line(rng) for _ in range(25_000))
    number = 0
    while True:
        number += 1
        start = rng.randrange(1_000)
        yield from _command(rng, number, block[start : start + 1_000_000])


def _malformed(rng: random.Random) -> Iterator[bytes]:
    """The lines of the realistic stream, with one line in a hundred cut in half."""
    cuts = random.Random(1)
    for line in _realistic(rng):
        yield line[: len(line) // 2] if cuts.random() < 0.01 else line


STREAMS: dict[str, Callable[[random.Random], Iterator[bytes]]] = {
    "realistic": _realistic,
    "small": _small,
    "large": _large,
    "malformed": _malformed,
    "claude-realistic": claude_realistic,
}


def shortest() -> Stream:
    """A turn in which nothing happens: what a run over it costs is its start and its end."""
    source = _realistic(random.Random(20))
    lines = [next(source), next(source), next(line for line in source if line.startswith(b'{"type":"turn.completed"'))]
    return Stream("shortest", b"".join(line + b"\n" for line in lines), len(lines))


def make(name: str, lines: int) -> Stream:
    """The first `lines` lines of a stream, always the same, or fewer (`MOST_BYTES_A_LINE`)."""
    source = STREAMS[name](random.Random(20))
    made: list[bytes] = []
    size, enough = 0, lines * MOST_BYTES_A_LINE
    while len(made) < lines and size < enough:
        made.append(next(source) + b"\n")
        size += len(made[-1])
    return Stream(name, b"".join(made), len(made))
