"""Provide the seeds of the fuzzer: recordings of the real CLI, and the names in their lines."""

from __future__ import annotations

from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

from tests.fuzz.pipeline import GROWN, HEADER, SECRETS

__all__ = ["CRASHES", "inputs", "recordings", "tokens"]

CRASHES: Final = Path(__file__).with_name("crashes")
"""Inputs that broke a rule once; each is kept, under the name of what it broke."""

_CODEX: Final = Path(__file__).parents[2] / "fixtures" / "codex"
_LONGEST: Final = 2_048
_OLDER: Final = (
    b'{"type":"session.created","session_id":"s"}\n{"type":"item.created","item_type":"web_search","item_id":"a"}\n',
    b'{"type":"item.delta","item_type":"assistant_message","item_id":"a","delta":{"text_delta":"f"},"thread_id":"t"}\n',
    b'{"type":"item.completed","item_type":"agent_message","item_id":"a","content":{"text":"t"}}\n',
    b'{"type":"turn.started","turn_id":"turn_1","thread_id":"t"}\n'
    b'{"type":"item.started","turn_id":"turn_1","item":{"id":"call_0123","type":"web_search","query":"q"}}\n',
    b'{"type":"item.updated","thread_id":"t","item":{"id":"a","type":"todo_list","items":[{"text":"x"}]}}\n'
    b'{"type":"turn.completed","usage":{"input_tokens":1}}\n{"type":"turn.completed","usage":null}\n',
    b'{"type":"item.failed","item":{"id":"a","type":"reasoning"},"error":{"message":"m"}}\r\n{"type":"turn.started"',
)
_NAMES: Final = (
    *("type", "thread_id", "turn_id", "conversation_id", "session_id", "item", "usage", "error", "message", "id"),
    *("item_id", "item_type", "text", "text_delta", "content", "delta", "$delta", "command", "aggregated_output"),
    *("exit_code", "status", "stdout", "stderr", "changes", "path", "kind", "diff", "server", "server_name", "tool"),
    *("tool_name", "arguments", "result", "receiver_thread_ids", "sender_thread_id", "prompt", "agents_states"),
    *("query", "action", "items", "completed", "thread.started", "thread.resumed", "session.created", "turn.started"),
    *("turn.completed", "turn.failed", "item.started", "item.created", "item.updated", "item.delta", "item.completed"),
    *("item.failed", "agent_message", "assistant_message", "reasoning", "command_execution", "file_change"),
    *("mcp_tool_call", "collab_tool_call", "web_search", "todo_list", "in_progress", "failed", "declined"),
)


@cache
def recordings() -> tuple[bytes, ...]:
    """What the real CLI has printed, and what older ones print: each stream once, its beginning where it is long."""
    found = {path.read_bytes()[:_LONGEST] for path in _CODEX.glob("*/*.jsonl") if ".events" not in path.name}
    return (*_OLDER, *sorted(found))


def inputs() -> list[bytes]:
    """The recordings as inputs of the target, with all options one after the other."""
    headers = (bytes((number % 256, number % 17, number % 13)).ljust(HEADER, b"\x50") for number in count())
    return [header + stream for header, stream in zip(headers, recordings(), strict=False)]


def tokens() -> list[bytes]:
    """What a mutation may put anywhere: names of the lines' vocabulary, secrets, and what grows."""
    names = [f'"{name}"'.encode() for name in _NAMES]
    return [*names, *(secret.encode() for secret in SECRETS * 8), *[GROWN] * 30, b"\\u0", b"\r\n"]
