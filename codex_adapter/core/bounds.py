"""Apply byte limits: split a text, cut a message, drop a facet. Sizes are bytes of UTF-8 (B1 to B6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from codex_adapter.events import Dropped, Event, Facet, TextPart, ToolCall

__all__ = [
    "DATA_LIMIT",
    "FINAL_TEXT_LIMIT",
    "LONG_MESSAGE",
    "LONG_NAME",
    "LONG_PLAN",
    "LONG_TEXT",
    "MESSAGE_LIMIT",
    "TEXT_LIMIT",
    "bound",
    "cut",
]

CHANNEL_LIMIT: Final = 128
TEXT_LIMIT: Final = 65_536
MESSAGE_LIMIT: Final = 4_096
DATA_LIMIT: Final = 65_536
FINAL_TEXT_LIMIT: Final = 65_536

LONG_TEXT: Final = TEXT_LIMIT // 4
"""A text of at most this many characters is always within its limit, whatever the characters are."""
LONG_MESSAGE: Final = MESSAGE_LIMIT // 4
"""The same for a message."""
LONG_NAME: Final = 1_024
"""A facet is always within its limit if each of its ids and names has at most this many characters."""
LONG_PLAN: Final = 8_192
"""A plan of at most this many characters is always within its limit. Each step counts as eight more characters."""

_CUT_MARK = "…(truncated)"
_CUT_MARK_BYTES = len(_CUT_MARK.encode())
_MOST_BYTES_A_CHARACTER = 4
_MOST_BYTES_ESCAPED = 6
_FACET_FRAME_BYTES = 1_024

_encode = msgspec.json.Encoder().encode


def bound(event: Event, out: list[Event]) -> None:
    """Append the event, or the pieces of it that are within the limits, in order (B6)."""
    text, message, data = event.text, event.message, event.data
    if (
        (text is None or _fits(text, TEXT_LIMIT))
        and (message is None or _fits(message, MESSAGE_LIMIT))
        and (event.channel is None or _fits(event.channel, CHANNEL_LIMIT))
        and (data is None or _facet_fits(data))
    ):
        out.append(event)
    else:
        out.extend(_split_event(event))


def cut(text: str, limit: int) -> str:
    """Return the text if it fits in `limit` bytes, else its beginning with a mark of the cut (B3, B5)."""
    if _fits(text, limit):
        return text
    room = limit - _CUT_MARK_BYTES
    return text[:limit].encode()[:room].decode(errors="ignore") + _CUT_MARK


def _fits(text: str, limit: int) -> bool:
    length = len(text)
    if length * _MOST_BYTES_A_CHARACTER <= limit:
        return True
    return length <= limit and (text.isascii() or len(text.encode()) <= limit)


def _facet_fits(data: Facet) -> bool:
    if isinstance(data, ToolCall) and data.input is None and data.output is None:
        tool = data.tool
        size = len(tool.kind) + len(tool.tool_name or "") + len(tool.backend_item_id or "")
        size += len(tool.thread_id or "") + len(tool.turn_id or "") + len(tool.tool_use_id or "")
        size += len(tool.parent_id or "")
    elif isinstance(data, TextPart):
        size = len(data.item_type) + len(data.item_id or "") + len(data.parent_id or "")
    else:
        return len(_encode(data)) <= DATA_LIMIT
    return size * _MOST_BYTES_ESCAPED + _FACET_FRAME_BYTES <= DATA_LIMIT or len(_encode(data)) <= DATA_LIMIT


def _split_event(event: Event) -> Iterator[Event]:
    channel = event.channel if event.channel is None or _fits(event.channel, CHANNEL_LIMIT) else None
    message = None if event.message is None else cut(event.message, MESSAGE_LIMIT)
    data = event.data
    if data is not None and not _facet_fits(data):
        data = Dropped()
    if event.text is None:
        yield Event(0, event.agent_kind, event.kind, channel, None, message, data)
        return
    pieces = list(_split(event.text, TEXT_LIMIT)) or [""]
    for number, piece in enumerate(pieces, 1):
        if isinstance(data, TextPart):
            data = TextPart(data.item_id, data.item_type, data.phase, number, len(pieces), data.parent_id)
        yield Event(0, event.agent_kind, event.kind, channel, piece, message, data)


def _split(text: str, limit: int) -> Iterator[str]:
    """Yield pieces of at most `limit` bytes, cut between characters. The joined pieces equal the text (B2)."""
    if text.isascii():
        for start in range(0, len(text), limit):
            yield text[start : start + limit]
        return
    encoded = text.encode()
    start = 0
    while start < len(encoded):
        end = min(start + limit, len(encoded))
        while end < len(encoded) and encoded[end] & 0xC0 == 0x80:
            end -= 1
        yield encoded[start:end].decode()
        start = end
