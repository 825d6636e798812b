"""Collect the strings of events that may contain a secret, and note whether an event may exceed a bound (AG3).

With them the pipeline looks for secrets once for all events of a read, and leaves short events as they are (B6, X5).
"""

from __future__ import annotations

from codex_adapter.core.bounds import LONG_MESSAGE, LONG_NAME, LONG_TEXT
from codex_adapter.core.decoder import Decoded
from codex_adapter.events import Event, Tool

__all__ = ["FreeText"]


class FreeText:
    """The free strings of the events of one read: `texts` and `long` as in `Decoded`."""

    __slots__ = ("long", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.long = False

    def add_text(self, text: str, item_id: str, parent_id: str | None) -> None:
        """Add the strings of a text_output."""
        self.texts.append(text)
        self.texts.append(item_id)
        if parent_id is not None:
            self.texts.append(parent_id)
            self.long |= len(parent_id) > LONG_NAME
        if len(text) > LONG_TEXT or len(item_id) > LONG_NAME:
            self.long = True

    def add_tool(self, tool: Tool) -> None:
        """Add the strings of a tool call or a result, without its payloads. The call's two ids are the same."""
        texts = self.texts
        item_id, name, parent_id = tool.backend_item_id, tool.tool_name, tool.parent_id
        if item_id is not None:
            texts.append(item_id)
            if len(item_id) > LONG_NAME:
                self.long = True
        if name is not None:
            texts.append(name)
            if len(name) > LONG_NAME:
                self.long = True
        if parent_id is not None:
            texts.append(parent_id)
            if len(parent_id) > LONG_NAME:
                self.long = True

    def add_message(self, message: str) -> None:
        """Add the message of an error or of a status event."""
        self.texts.append(message)
        self.long |= len(message) > LONG_MESSAGE

    def take(self, events: list[Event]) -> Decoded:
        """Return the events with their free strings, and forget these."""
        decoded = Decoded(events, self.texts, self.long)
        self.texts = []
        self.long = False
        return decoded
