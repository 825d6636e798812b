"""Streams to measure with: lines as the real CLI prints them, in the proportions of real work, from a fixed seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

__all__ = ["STREAMS", "Stream", "make"]

_THREAD = "01a20018-057d-7ce3-b0c7-a173a1ba2c6a"
_WORDS = re.findall(
    r"\w+",
    "the build fails because the module imports before the config is read so I will move it and run the tests again "
    "then look at what changed in the parser and whether the cache key still holds for nested values of this type",
)
_COMMANDS = ("ls -la src", "git status --short", "pytest -q tests/test_parser.py", "sed -n '1,80p' src/config.py")
_encode = msgspec.json.encode


class Stream(msgspec.Struct, frozen=True):
    """A stream's bytes, and how many lines they are."""

    name: str
    data: bytes
    lines: int


def _prose(rng: random.Random, low: int, high: int) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(low, high))).capitalize() + "."


def _item(kind: str, number: int, item_type: str, **fields: Any) -> bytes:
    return _encode({"type": f"item.{kind}", "item": {"id": f"item_{number}", "type": item_type, **fields}})


def _command(rng: random.Random, number: int, low: int, high: int) -> Iterator[bytes]:
    command = f"/bin/bash -lc '{rng.choice(_COMMANDS)}'"
    output = "\n".join(_prose(rng, 4, 12) for _ in range(rng.randint(low, high)))
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
    """What an agent at work prints: half commands, a quarter thoughts and words, the rest patches, plans, tools."""
    yield _encode({"type": "thread.started", "thread_id": _THREAD})
    number = 0
    while True:
        yield b'{"type":"turn.started"}'
        for _ in range(12):
            number += 1
            yield _item("completed", number, "reasoning", text=f"**{_prose(rng, 3, 5)}** {_prose(rng, 10, 40)}")
            number += 1
            yield from _command(rng, number, 1, 18)
            number += 1
            yield _item("completed", number, "agent_message", text=_prose(rng, 8, 40))
            number += 1
            path = f"/workspace/src/module_{rng.randint(1, 30)}.py"
            change = [{"path": path, "kind": "update"}]
            yield _item("started", number, "file_change", changes=change, status="in_progress")
            yield _item("completed", number, "file_change", changes=change, status="completed")
        plan = [{"text": _prose(rng, 3, 8), "completed": done} for done in (True, True, False)]
        yield _item("updated", number + 1, "todo_list", items=plan)
        result = {"content": [{"type": "text", "text": _prose(rng, 20, 40)}], "structured_content": None}
        call = {"server": "docs", "tool": "search", "arguments": {"query": "config"}}
        yield _item("started", number + 2, "mcp_tool_call", **call, result=None, error=None, status="in_progress")
        yield _item("completed", number + 2, "mcp_tool_call", **call, result=result, error=None, status="completed")
        number += 2
        usage = {"input_tokens": 81_234, "cached_input_tokens": 60_160, "output_tokens": 912}
        yield _encode({"type": "turn.completed", "usage": usage})


def _small(rng: random.Random) -> Iterator[bytes]:
    """Nothing but short messages."""
    yield _encode({"type": "thread.started", "thread_id": _THREAD})
    number = 0
    while True:
        number += 1
        yield _item("completed", number, "agent_message", text=_prose(rng, 1, 6))


def _large(rng: random.Random) -> Iterator[bytes]:
    """Commands that print a megabyte each."""
    yield _encode({"type": "thread.started", "thread_id": _THREAD})
    number = 0
    while True:
        number += 1
        yield from _command(rng, number, 20_000, 21_000)


def _legacy(rng: random.Random) -> Iterator[bytes]:
    """The realistic mix with its items flattened to the top, as older wrappers print them."""
    for line in _realistic(rng):
        value = msgspec.json.decode(line)
        item = value.pop("item", None)
        if item is not None:
            value.update(item_type=item.pop("type"), item_id=item.pop("id"), thread_id=_THREAD)
            text = item.pop("text", None)
            value["content"] = item if text is None else text
        yield _encode(value)


def _deltas(rng: random.Random) -> Iterator[bytes]:
    """Text in fragments."""
    yield _encode({"type": "thread.started", "thread_id": _THREAD})
    number = 0
    while True:
        number += 1
        for _ in range(20):
            delta = {"type": "item.delta", "item_id": f"item_{number}", "item_type": "agent_message"}
            yield _encode({**delta, "delta": {"text_delta": _prose(rng, 1, 4)}})
        yield _item("completed", number, "agent_message", text=_prose(rng, 30, 60))


def _malformed(rng: random.Random) -> Iterator[bytes]:
    """The realistic mix with one line in a hundred cut short."""
    for line in _realistic(rng):
        yield line[: len(line) // 2] if rng.random() < 0.01 else line


STREAMS: dict[str, Callable[[random.Random], Iterator[bytes]]] = {
    "realistic": _realistic,
    "small": _small,
    "large": _large,
    "legacy": _legacy,
    "deltas": _deltas,
    "malformed": _malformed,
}


def make(name: str, lines: int) -> Stream:
    """The first `lines` lines of a stream, always the same."""
    source = STREAMS[name](random.Random(20))
    data = b"".join(next(source) + b"\n" for _ in range(lines))
    return Stream(name, data, lines)
