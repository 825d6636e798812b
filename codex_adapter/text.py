"""Assemble the texts of a run from the events that carry their parts (P10)."""

from __future__ import annotations

from typing import final

from codex_adapter.events import Event, TextPart

__all__ = ["AssembledText", "TextAssembler"]

_MESSAGE = "agent_message"


@final
class AssembledText:
    """The text of one item, as of its last event. Later events extend it (P10)."""

    __slots__ = ("_pieces", "complete", "item_id", "item_type", "parent_id", "seq", "whole")

    def __init__(self, event: Event, part: TextPart) -> None:
        self.item_id = part.item_id
        self.item_type = part.item_type
        self.parent_id = part.parent_id
        """The id of the tool call that started the sub-agent; None for a text of the agent itself."""
        self.seq = event.seq
        """The number of the first event of the text."""
        self.complete = False
        """Whether the text is complete."""
        self.whole = False
        """Whether no part of the last snapshot is missing."""
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """The text so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def _add(self, part: TextPart, text: str) -> None:
        if part.phase != "delta" and part.part == 1:
            self._pieces.clear()
        self._pieces.append(text)
        self.whole = part.phase == "delta" or part.part >= part.parts
        self.complete = part.phase == "complete" and self.whole


@final
class TextAssembler:
    """An assembler of one run's texts: it appends fragments, replaces snapshots and joins the parts of long texts.

    It holds the incomplete texts and the last message (P10).
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str | None, str], AssembledText] = {}
        self._last: AssembledText | None = None

    @property
    def open(self) -> tuple[AssembledText, ...]:
        """The incomplete texts, in the order of their first events."""
        return tuple(self._open.values())

    @property
    def last_message(self) -> str | None:
        """The last complete message of the agent, not of a sub-agent; None before the first one."""
        return None if self._last is None else self._last.text

    def receive(self, event: Event) -> AssembledText | None:
        """Return the text of an event as of this event; None for an event without a text."""
        part = event.data
        if not isinstance(part, TextPart):
            return None
        key = (part.item_id, part.item_type)
        text = self._open.get(key)
        if text is None:
            text = self._open[key] = AssembledText(event, part)
        text._add(part, event.text or "")
        if text.complete:
            del self._open[key]
            if text.item_type == _MESSAGE and text.parent_id is None:
                self._last = text
        return text
