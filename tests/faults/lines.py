"""Put values of every JSON type in every field of a line."""

from __future__ import annotations

from typing import Any, Final

from codex_adapter import Event
from tests.agents.agent_lines import AgentLines

__all__ = ["VALUES", "events_of", "told", "with_each_field_replaced"]

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, -1, 0.5, 2**63, 10**40, "", "x" * 5_000, "\0\u2028\x1b[31m"),
    *([], [[]], [None], ["x"], [{}], {}, {"": None}, {"text": ["x"]}, {"message": {}}, {"type": "agent_message"}),
)


def with_each_field_replaced(value: Any, by: Any) -> list[Any]:
    """The value once for each field in it, however deep, with that field replaced, and once with it left out."""
    found: list[Any] = []
    if isinstance(value, dict):
        for name, inner in value.items():
            found += [{**value, name: by}, {key: kept for key, kept in value.items() if key != name}]
            found += [{**value, name: changed} for changed in with_each_field_replaced(inner, by)]
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            found += [[*value[:place], changed, *value[place + 1 :]] for changed in with_each_field_replaced(inner, by)]
    return found


def events_of(agent: AgentLines, *reads: bytes) -> list[Event]:
    """The events of a stream, numbered without gaps."""
    pipeline = agent.pipeline()
    events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
    assert [event.seq for event in events] == list(range(len(events)))
    return events


def told(agent: AgentLines, *reads: bytes) -> list[str | None]:
    """The text or the message of each event."""
    return [event.text or event.message for event in events_of(agent, *reads)]
