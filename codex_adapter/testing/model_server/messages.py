"""Answer requests of the Anthropic Messages API from the items of a scenario (TK1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from ..scenario import (
    AgentCall,
    Answer,
    Item,
    Keys,
    McpCall,
    Message,
    Patch,
    Plan,
    RawItem,
    Reasoning,
    ScenarioError,
    Shell,
    Usage,
    WebSearch,
)

__all__ = ["content_block", "is_side_request", "message_body", "message_events", "side_answer"]

Json = dict[str, Any]
_WARMUP = "Warmup"
"""The prompt with which some releases fill the caches of their sub-agents at the start."""


def is_side_request(request: Mapping[str, Any]) -> bool:
    """Return whether the CLI asks for something of its own, such as a title, and not for the next step of the task.

    Such a request offers no tools and goes to a small model, or it only fills the cache of a sub-agent, as in 2.0.76.
    It takes no answer of the scenario.
    """
    if not request.get("tools") and "haiku" in str(request.get("model")):
        return True
    match request.get("messages"):
        case [{"content": str(text) | [{"text": str(text)}]}]:
            return text == _WARMUP
    return False


def side_answer() -> Answer:
    """Return the answer to every side request."""
    return Answer(items=(Message('{"isNewTopic": false, "title": "scripted"}'),))


def content_block(item: Item, request: Mapping[str, Any], key: str) -> Json:
    """Return the content block of an item; `key` makes its id unique within the scenario.

    Raise `ScenarioError` for an item that no tool of this API can express.
    """
    match item:
        case Message(text):
            return {"type": "text", "text": text}
        case Reasoning(summary, _):
            return {"type": "thinking", "thinking": "\n".join(summary), "signature": "c2lnbmF0dXJl"}
        case Shell(command, arguments):
            offered = _offered(request)
            tool = "bash" if "bash" in offered and "Bash" not in offered else "Bash"
            return _call(tool, {"command": command, "description": "run a command", **arguments}, key)
        case Plan(steps):
            todos = [{"content": each.step, "status": each.status, "activeForm": each.step} for each in steps]
            return _call("TodoWrite", {"todos": todos}, key)
        case McpCall(server, tool, arguments):
            return _call(f"mcp__{server}__{tool}", dict(arguments), key)
        case WebSearch(action):
            return _call("WebSearch", dict(action or {"query": "scripted"}), key)
        case AgentCall("spawn", message):
            offered = _offered(request)
            task = {"description": "a part of the task", "prompt": message, "subagent_type": "general-purpose"}
            return _call("Task" if "Task" in offered and "Agent" not in offered else "Agent", task, key)
        case RawItem(value):
            return {"id": f"toolu_{key}", **value} if value.get("type") == "tool_use" else dict(value)
        case Keys() | Patch() | AgentCall():
            raise ScenarioError("the Messages API has no tool for this item; use a raw item")
        case _:
            assert_never(item)


def _offered(request: Mapping[str, Any]) -> set[str]:
    """Return the names of the tools that the model can call."""
    return {str(tool.get("name")) for tool in request.get("tools") or [] if isinstance(tool, dict)}


def message_events(answer: Answer, blocks: list[Json], key: str, model: str) -> Iterator[Json | str]:
    """Yield the server-sent events of an answer whose items are these blocks."""
    if answer.events is not None:
        yield from answer.events
        return
    message = _message([], key, model)
    start = {**message, "stop_reason": None, "stop_sequence": None, "usage": _usage(answer.usage, output=1)}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(blocks):
        empty, deltas = _parts(block, answer.pieces or 1)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    match answer.end:
        case "completed" | "incomplete":
            usage = {} if answer.usage is None else {"usage": {"output_tokens": answer.usage.output}}
            yield {"type": "message_delta", "delta": _stop(answer, blocks), **usage}
            yield {"type": "message_stop"}
        case "failed":
            yield {"type": "error", "error": dict(answer.detail or {"type": "api_error", "message": "scripted"})}
        case "none":
            return


def message_body(answer: Answer, blocks: list[Json], key: str, model: str) -> Json:
    """Return the body of an answer to a request without `stream`, such as a retry of Claude Code 2.0.76."""
    usage = _usage(answer.usage, output=(answer.usage or Usage()).output)
    return {**_message(blocks, key, model), **_stop(answer, blocks), "usage": usage}


def _message(blocks: list[Json], key: str, model: str) -> Json:
    return {"id": f"msg_{key}", "type": "message", "role": "assistant", "model": model, "content": blocks}


def _stop(answer: Answer, blocks: list[Json]) -> Json:
    called = any(block.get("type") == "tool_use" for block in blocks)
    reason = "tool_use" if called else "end_turn"
    if answer.end == "incomplete":
        reason = str((answer.detail or {}).get("stop_reason", "max_tokens"))
    return {"stop_reason": reason, "stop_sequence": None}


def _call(name: str, arguments: Json, key: str) -> Json:
    return {"type": "tool_use", "id": f"toolu_{key}", "name": name, "input": arguments}


def _parts(block: Json, count: int) -> tuple[Json, list[Json]]:
    """Return a block as it starts, and the deltas that complete it."""
    match block:
        case {"type": "text", "text": str(text)}:
            deltas = [{"type": "text_delta", "text": part} for part in _cut(text, count)]
            return {**block, "text": ""}, deltas
        case {"type": "thinking", "thinking": str(text)}:
            deltas = [{"type": "thinking_delta", "thinking": part} for part in _cut(text, count)]
            signature = {"type": "signature_delta", "signature": block.get("signature", "")}
            return {**block, "thinking": "", "signature": ""}, [*deltas, signature]
        case {"type": "tool_use", "input": arguments}:
            encoded = _cut(json.dumps(arguments), count)
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in encoded]
    return block, []


def _cut(text: str, count: int) -> list[str]:
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _usage(usage: Usage | None, *, output: int) -> Json:
    counts = usage or Usage()
    return {
        "input_tokens": counts.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": counts.cached,
        "output_tokens": output,
    }
