"""Build the server-sent events of one answer, in the format of the Responses API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..scenario import Answer, Usage

__all__ = ["encode_event", "events_of"]

Json = dict[str, Any]


def encode_event(event: Json | str) -> bytes:
    """Return an event in the format of the stream. A text is sent unchanged, and need not be an event."""
    if isinstance(event, str):
        return event.encode("utf-8", "surrogatepass")
    return f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n".encode()


def events_of(answer: Answer, items: list[Json], key: str) -> Iterator[Json | str]:
    """Yield the events of an answer. `items` are its items in the form of the API. (TK1)"""
    if answer.events is not None:
        yield from answer.events
        return
    response: Json = {"id": f"resp_{key}"}
    yield {"type": "response.created", "response": response}
    for index, item in enumerate(items):
        place = {"item_id": item.get("id"), "output_index": index}
        pieces = list(_pieces(item, answer.pieces)) if answer.pieces else []
        empty: Json = {name: [] for name in ("content", "summary") if pieces and name in item}
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, **empty}}
        for piece in pieces:
            yield {**piece, **place}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    usage: Json = {"usage": _usage(answer.usage)} if answer.usage is not None else {}
    match answer.end:
        case "completed":
            yield {"type": "response.completed", "response": {**response, **usage}}
        case "failed":
            failed = {**response, "status": "failed", "error": answer.detail}
            yield {"type": "response.failed", "response": failed}
        case "incomplete":
            incomplete = {**response, "status": "incomplete", "incomplete_details": answer.detail, **usage}
            yield {"type": "response.incomplete", "response": incomplete}
        case "none":
            return


def _pieces(item: Json, count: int) -> Iterator[Json]:
    match item:
        case {"type": "message", "content": [{"text": str(text)}]}:
            for delta in _cut(text, count):
                yield {"type": "response.output_text.delta", "content_index": 0, "delta": delta}
            yield {"type": "response.output_text.done", "content_index": 0, "text": text}
        case {"type": "reasoning", "summary": list(summary)}:
            kind = "response.reasoning_summary"
            for index, part in enumerate(summary):
                empty = {"type": "summary_text", "text": ""}
                yield {"type": f"{kind}_part.added", "summary_index": index, "part": empty}
                for delta in _cut(part["text"], count):
                    yield {"type": f"{kind}_text.delta", "summary_index": index, "delta": delta}
                yield {"type": f"{kind}_text.done", "summary_index": index, "text": part["text"]}


def _cut(text: str, count: int) -> Iterator[str]:
    size = max(1, -(-len(text) // count))
    return (text[start : start + size] for start in range(0, len(text), size))


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
