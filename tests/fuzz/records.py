"""Check the rules for every event and completion: bounds, the form of its kind, and its record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args

import msgspec

from codex_adapter.events import Completion, Dropped, Event, Facet, PayloadText, ToolCall
from codex_adapter.records import encode_events

__all__ = ["assert_bounded", "assert_round_trip", "strings"]

_FACETS: Final[dict[str, Any]] = {
    facet.__struct_config__.tag: facet for facet in get_args(Facet) if facet.__struct_config__.tag
}
_CHANNELS: Final = {
    "text_output": "assistant",
    "tool_call": "tool",
    "tool_result": "tool",
    "status": "status",
    "error": "error",
    "unknown": None,
}
_ENDS_A_LINE_FOR_SOME: Final = ("\u2028".encode(), "\u2029".encode(), b"\r")


def assert_bounded(told: Event | Completion, kind: str) -> None:
    """Every bound is kept, every string is encodable, and an event has what its kind has (B1 to B6, M1, M7)."""
    for text in strings(told):
        text.encode()
    if isinstance(told, Completion):
        assert told.final_text is None or len(told.final_text.encode()) <= 65_536
        return
    assert told.channel == _CHANNELS[told.kind]
    assert told.agent_kind == kind
    assert (told.text is not None) == (told.kind == "text_output")
    assert told.message is None or told.kind in ("status", "error")
    assert told.message is not None or told.kind != "error"
    assert len((told.text or "").encode()) <= 65_536
    assert len((told.message or "").encode()) <= 4_096
    assert len(msgspec.json.encode(told.data)) <= 65_536
    if isinstance(told.data, ToolCall):
        assert all(len(payload.text.encode()) <= 16_384 for payload in _payloads(told.data))


def assert_round_trip(events: Sequence[Event]) -> None:
    """Each event is one line, which says all of it and can be read by everybody (W1, W3)."""
    data = encode_events(events)
    assert not any(separator in data for separator in _ENDS_A_LINE_FOR_SOME)
    *lines, rest = data.decode().split("\n")
    assert rest == ""
    for line, event in zip(lines, events, strict=True):
        assert _read(line) == event


def strings(told: Event | Completion) -> Iterator[str]:
    """Every string of an event or a completion, names of fields included."""
    waiting: list[Any] = [msgspec.to_builtins(told)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value


def _payloads(facet: ToolCall) -> Iterator[PayloadText]:
    for part in (facet.input, facet.output):
        if part is not None:
            yield from (text for name in part.__struct_fields__ if (text := getattr(part, name)) is not None)


def _read(record: str) -> Event:
    fields = msgspec.json.decode(record)
    assert fields.pop("type") == "event"
    data = fields.pop("data", None)
    if data is not None:
        data = msgspec.convert(data, _FACETS.get(data.get("schema"), Dropped))
    return Event(**fields, data=data)
