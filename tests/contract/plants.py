"""List the places where agent output can contain a canary, and who may see it there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

__all__ = ["PLANTS", "Plant", "Seen", "stdout"]

Seen: TypeAlias = Literal["never", "payload", "always"]
Plant: TypeAlias = tuple[Seen, Callable[[str], Any]]
"""Who may see the word, and the line that it stands in: a JSON value, or bytes, or some lines of them."""


def _item(kind: str, phase: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{phase}", "item": {"id": "item_0", "type": kind, **fields}}


def _command(**fields: Any) -> dict[str, Any]:
    return _item("command_execution", **{"command": "ls", "aggregated_output": "", "status": "failed", **fields})


def _mcp(**fields: Any) -> dict[str, Any]:
    return _item("mcp_tool_call", **{"server": "s", "tool": "t", "status": "completed", **fields})


def _collab(**fields: Any) -> dict[str, Any]:
    return _item("collab_tool_call", **{"tool": "wait", "status": "completed", **fields})


PLANTS: Final[dict[str, Plant]] = {
    # The first, for the session is the first one that is known.
    "session id": ("always", lambda word: {"type": "thread.started", "thread_id": word}),
    "text that is no JSON": ("never", str.encode),
    "JSON without its end": ("never", lambda word: f'{{"type":"error","message":"{word}'.encode()),
    "JSON with something after it": ("never", lambda word: f'{{"type":"turn.started"}} {word}'.encode()),
    "a byte order mark": ("never", lambda word: b"\xef\xbb\xbf" + word.encode()),
    "invalid UTF-8": ("never", lambda word: f'{{"type":"error","message":"{word}'.encode() + b'\xff"}'),
    "a lone surrogate": ("never", lambda word: f'{{"type":"error","message":"{word}\\ud83d"}}'.encode()),
    "too deep nesting": ("never", lambda word: f'{{"{word}":'.encode() * 20_000),
    "a number too large": (
        "never",
        lambda word: f'{{"type":"turn.completed","usage":{{"{word}":{"9" * 400}}}}}'.encode(),
    ),
    "no object": ("never", lambda word: [word]),
    "no type": ("never", lambda word: {word: word}),
    "a type that is no name": ("never", lambda word: {"type": [word]}),
    "a field of the wrong type": ("never", lambda word: _item("agent_message", text=[word])),
    "an item of the wrong type": ("never", lambda word: {"type": "item.completed", "item": word}),
    "usage of the wrong type": ("never", lambda word: {"type": "turn.completed", "usage": word}),
    "a missing field": ("never", lambda word: {"type": "error", "massage": word}),
    "a missing field of an item": ("never", lambda word: _item("command_execution", note=word, text=word)),
    "a status of the wrong type": ("never", lambda word: _command(exit_code=word)),
    "a field that nobody knows": ("never", lambda word: {"type": "turn.started", "note": word, word: word}),
    "fields of an unknown line": ("never", lambda word: {"type": "tomorrow", "note": word, word: [word]}),
    "fields of an unknown item": ("never", lambda word: _item("tomorrow_item", text=word, id=word, **{word: word})),
    "an unknown type, after its name": ("never", lambda word: {"type": f"tomorrow {word}"}),
    "an unknown type, too long": ("never", lambda word: {"type": "x" * 64 + word}),
    "an unknown item type, after its name": ("never", lambda word: _item(f"tomorrow/{word}")),
    "a count that is no name": ("never", lambda word: {"type": "turn.completed", "usage": {f"a {word}": 1}}),
    "the message of a failed turn": ("never", lambda word: {"type": "turn.failed", "error": {"message": word}}),
    "a command": ("payload", lambda word: _command(command=f"cat {word}")),
    "a command's output": ("payload", lambda word: _command(aggregated_output=f"a\n{word}\n", exit_code=1)),
    "a command that has begun": ("payload", lambda word: {**_command(command=word), "type": "item.started"}),
    "a changed path": ("payload", lambda word: _item("file_change", changes=[{"path": f"/{word}", "kind": "add"}])),
    "arguments of an MCP tool": ("payload", lambda word: _mcp(arguments={word: [word]})),
    "the result of an MCP tool": ("payload", lambda word: _mcp(result={"content": [{"type": "text", "text": word}]})),
    "the error of an MCP tool": ("payload", lambda word: _mcp(error={"message": word})),
    "a search": ("payload", lambda word: _item("web_search", query=word)),
    "the action of a search": ("payload", lambda word: _item("web_search", query="", action={"url": word})),
    "the prompt of a sub-agent": ("payload", lambda word: _collab(prompt=word)),
    "the answer of a sub-agent": ("payload", lambda word: _collab(agents_states={"a": {"message": word}})),
    "the id of a message": ("always", lambda word: _item("agent_message", id=word, text="x")),
    "a message that is split": ("always", lambda word: _item("agent_message", text="x" * 65_524 + word + "x" * 9_000)),
    "a message": ("always", lambda word: _item("agent_message", text=f'"a {word} b"')),  # JSON, as an answer
    "a fragment": ("always", lambda word: _item("agent_message", "delta", delta=word)),
    "a thought": ("always", lambda word: _item("reasoning", text=word)),
    "an error line": ("always", lambda word: {"type": "error", "message": f"Reconnecting ({word})"}),
    "an error line that is cut": ("always", lambda word: {"type": "error", "message": "x" * 4_070 + word + "x" * 99}),
    "an error item": ("always", lambda word: _item("error", message=word)),
    "the error of a failed item": ("always", lambda word: {**_item("reasoning", "failed", text=""), "error": word}),
    "the plan": ("always", lambda word: _item("todo_list", items=[{"text": word, "completed": False}])),
    "an MCP server": ("always", lambda word: _mcp(server=word)),
    "an MCP tool": ("always", lambda word: _mcp(tool=word)),
    "a sub-agent's tool": ("always", lambda word: _collab(tool=word)),
    "the id of a tool call": ("always", lambda word: _item("web_search", id=word, query="")),
    "an unknown type": ("always", lambda word: {"type": f"tomorrow.{word}"}),
    "an unknown item type": ("always", lambda word: _item(f"tomorrow.{word}")),
    "the name of a count": ("always", lambda word: {"type": "turn.completed", "usage": {word: 1}}),
    # The last, for both stay in force.
    "turn id": ("always", lambda word: ({"type": "turn.started", "turn_id": word}, _command())),
    "another session id": ("always", lambda word: ({"type": "thread.started", "thread_id": word}, _command())),
}


def stdout(words: Mapping[str, str], *, ensure_ascii: bool = False) -> bytes:
    """What an agent prints that has these words in these places."""
    lines: list[bytes] = []
    for name, word in words.items():
        line = PLANTS[name][1](word)
        values = line if isinstance(line, tuple) else (line,)
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=ensure_ascii).encode()
            lines.append(data + b"\n")
    return b"".join(lines)
