"""Test the strings that a decoder reports besides its events, and the note on long events."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex_adapter import Event
from codex_adapter.core.bounds import LONG_MESSAGE, LONG_NAME, LONG_TEXT
from codex_adapter.core.decoder import Decoded
from codex_adapter.core.free_text import FreeText
from codex_adapter.events import Tool, ToolBytes


def tool(item_id: str | None = None, name: str | None = None, parent_id: str | None = None) -> Tool:
    return Tool(item_id, None, None, "other", "start", "running", None, ToolBytes(), name, item_id, parent_id)


@pytest.mark.rule("AG3", "X5")
def test_each_string_is_reported_once_with_the_events() -> None:
    free = FreeText()
    free.add_text("text", "item", None)
    free.add_text("text 2", "item 2", "parent")
    free.add_tool(tool())
    free.add_tool(tool("id", "name", "parent 2"))
    free.add_message("message")
    events = [Event(0, "toy", "status")]
    texts = ["text", "item", "text 2", "item 2", "parent", "id", "name", "parent 2", "message"]
    assert free.take(events) == Decoded(events, texts, False)
    assert free.take([]) == Decoded([], [], False)


@pytest.mark.rule("AG3", "B6")
@pytest.mark.parametrize("more", [0, 1])
def test_a_long_string_makes_the_events_long(more: int) -> None:
    name = "n" * (LONG_NAME + more)
    adds: list[Callable[[FreeText], None]] = [
        lambda free: free.add_text("t" * (LONG_TEXT + more), "i", None),
        lambda free: free.add_text("t", name, None),
        lambda free: free.add_text("t", "i", name),
        lambda free: free.add_tool(tool(name)),
        lambda free: free.add_tool(tool("i", name)),
        lambda free: free.add_tool(tool("i", "n", name)),
        lambda free: free.add_message("m" * (LONG_MESSAGE + more)),
    ]
    for add in adds:
        free = FreeText()
        add(free)
        free.add_tool(tool("i"))
        assert free.take([]).long is bool(more)
