"""Generate the lines of Claude Code in realistic proportions, from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

import msgspec

__all__ = ["claude_realistic"]

_SESSION: Final = "0f28d7b1-0774-443d-82e1-53407223fd1a"
_MODEL: Final = "claude-opus-5-5"
_TOOLS: Final = ["Task", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write"]
_COMMANDS: Final = ("git status --short", "pytest -q tests/test_parser.py", "sed -n '1,80p' src/config.py", "ls -la")
_WORDS: Final = (
    *("the", "build", "fails", "because", "the", "module", "imports", "before", "the", "config", "is", "read", "so"),
    *("I", "move", "it", "and", "run", "the", "tests", "again"),
)
_LONGEST_OUTPUT: Final = 150
_encode = msgspec.json.encode


def claude_realistic(rng: random.Random) -> Iterator[bytes]:
    """Yield the output of a working agent: for each step a thought, a text, and a tool with its result.

    Most commands print little, and few print much. Messages have the fields that release 2.1.330 prints.
    """
    message = 0
    while True:
        yield _line(
            rng,
            type="system",
            subtype="init",
            cwd="/workspace",
            tools=_TOOLS,
            mcp_servers=[],
            model=_MODEL,
            permissionMode="acceptEdits",
            slash_commands=["clear", "compact", "context", "cost", "init", "review"],
            claude_code_version="2.1.330",
            agents=["general-purpose", "Explore", "Plan"],
        )
        for step in range(40):
            message += 1
            if step % 2 == 0:
                yield _assistant(
                    rng, message, {"type": "thinking", "thinking": _prose(rng, 10, 60), "signature": "c2ln"}
                )
            if step % 3 == 0:
                yield _assistant(rng, message, {"type": "text", "text": _prose(rng, 8, 40)})
            yield from _tool(rng, message, step)
        message += 1
        answer = _prose(rng, 20, 60)
        yield _assistant(rng, message, {"type": "text", "text": answer})
        yield _line(
            rng,
            type="result",
            subtype="success",
            is_error=False,
            duration_ms=81_234,
            duration_api_ms=71_234,
            num_turns=41,
            result=answer,
            total_cost_usd=0.123,
            usage=_usage(912),
            modelUsage={_MODEL: {"inputTokens": 81_234, "outputTokens": 912, "costUSD": 0.123}},
            permission_denials=[],
            terminal_reason="completed",
        )


def _tool(rng: random.Random, message: int, step: int) -> Iterator[bytes]:
    name = f"toolu_{message:022d}"
    lines = min(_LONGEST_OUTPUT, 1 + int(rng.expovariate(1 / 12)))
    output = "\n".join(_prose(rng, 3, 12) for _ in range(lines))
    result: dict[str, Any]
    if step % 4 == 3:
        path = f"/workspace/src/module_{rng.randint(1, 30)}.py"
        change = {"file_path": path, "old_string": _prose(rng, 5, 20), "new_string": _prose(rng, 5, 20)}
        call = {"type": "tool_use", "id": name, "name": "Edit", "input": change}
        patch = {"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": output.split("\n")[:6]}
        result = {"filePath": path, "structuredPatch": [patch]}
        output = f"The file {path} has been updated."
    elif step % 4 == 2:
        path = f"/workspace/src/module_{rng.randint(1, 30)}.py"
        call = {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": path}}
        result = {"type": "text", "file": {"filePath": path, "content": output, "numLines": lines}}
    else:
        given = {"command": rng.choice(_COMMANDS), "description": _prose(rng, 3, 6)}
        call = {"type": "tool_use", "id": name, "name": "Bash", "input": given}
        result = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    yield _assistant(rng, message, call)
    block = {"tool_use_id": name, "type": "tool_result", "content": output, "is_error": False}
    content = {"role": "user", "content": [block]}
    yield _line(rng, type="user", message=content, parent_tool_use_id=None, tool_use_result=result)


def _assistant(rng: random.Random, number: int, block: dict[str, Any]) -> bytes:
    message = {
        **{"id": f"msg_{number:020d}", "type": "message", "role": "assistant", "model": _MODEL, "content": [block]},
        **{"stop_reason": None, "stop_sequence": None, "usage": _usage(1)},
    }
    return _line(rng, type="assistant", message=message, parent_tool_use_id=None)


def _usage(output: int) -> dict[str, Any]:
    read = {"input_tokens": 100, "cache_creation_input_tokens": 1_200, "cache_read_input_tokens": 60_160}
    return {**read, "output_tokens": output, "service_tier": "standard"}


def _line(rng: random.Random, **fields: Any) -> bytes:
    return _encode({**fields, "session_id": _SESSION, "uuid": str(UUID(int=rng.getrandbits(128)))})


def _prose(rng: random.Random, low: int, high: int) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(low, high))).capitalize() + "."
