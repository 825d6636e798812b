"""Test that each kind of bad line yields one redacted error without data of the line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from codex_adapter.agents.codex.stream.line_parser import _FIELDS, parse_lines
from codex_adapter.agents.codex.stream.lines import ThreadEvent, Unknown
from codex_adapter.core.bad_lines import BadLine, field_reason
from codex_adapter.core.framing import OversizeLine

from ....rows import rows

CANARY = "canary_4f1d"
IsCanonical = Callable[[str], bool]
Reason = Callable[[bytes], str]
LIMIT = 16 * 1024 * 1024
DEEP = b"[" * 100_000 + b"]" * 100_000
BIG = b"9" * 6_000


def parse(line: bytes) -> ThreadEvent | BadLine:
    return parse_lines([line])[0]


@pytest.fixture
def reason(is_canonical: IsCanonical) -> Reason:
    """What is wrong with a line; that nothing of it is told is checked on the way."""

    def reason_of(line: bytes) -> str:
        bad = parse(line)
        assert isinstance(bad, BadLine)
        assert CANARY not in repr(bad)
        assert bad.message.endswith(f" (line_bytes={len(line)})")
        assert is_canonical(bad.message)
        said = bad.message.removeprefix("codex stream ").replace(" (redacted)", "").partition(" (line_bytes")[0]
        return re.sub(" at byte [0-9]+$", "", said)

    return reason_of


def a_message() -> bytes:
    item = {"id": "item_0", "type": "agent_message", "text": CANARY}
    return json.dumps({"type": "item.completed", "item": item}).encode()


def with_field(raw: bytes) -> bytes:
    """A good line with one more field, which nobody uses."""
    return a_message()[:-1] + b',"canary_4f1d":' + raw + b"}"


@pytest.mark.fault("stream", "A line contains two JSON documents", "The decoder returns one parse error")
@pytest.mark.fault("stream", "A byte order mark precedes a line", "The decoder returns one parse error")
@pytest.mark.fault(
    "stream", "A line contains overlong UTF-8 or encoded surrogates", "The decoder returns one parse error"
)
@pytest.mark.fault(
    "stream",
    "A line contains a list, string, number or null instead of an object",
    "The decoder returns one parse error",
)
@pytest.mark.fault("stream", "A line contains 100,000 levels of nesting", "The decoder returns one parse error")
@pytest.mark.fault(
    "stream", "A line contains NaN, Infinity or a number that is out of range", "The decoder returns one parse error"
)
@pytest.mark.rule("L4", "X1", "X2", "X3")
@rows(
    ("line", "expected"),
    [
        (b"canary_4f1d", "parse error: malformed JSON"),
        (b'{"canary_4f1d', "parse error: malformed JSON"),
        (b'{"type":"error","message":"canary_4f1d"', "parse error: malformed JSON"),
        (b"\xef\xbb\xbf" + a_message(), "parse error: malformed JSON"),
        (b"\0" + a_message(), "parse error: malformed JSON"),
        (a_message() + b"\0", "parse error: malformed JSON"),
        (a_message() + a_message(), "parse error: malformed JSON"),
        (a_message() + b" canary_4f1d", "parse error: malformed JSON"),
        (b'{"type":"error"} canary_4f1d', "parse error: malformed JSON"),
        (b"\xff\xfe" + "canary_4f1d".encode("utf-16-le"), "parse error: malformed JSON"),
        (b"NaN", "parse error: malformed JSON"),
        (b'{"type":"turn.completed","usage":{"canary_4f1d":Infinity}}', "parse error: malformed JSON"),
        (b'{"type":"error","message":"\xff canary_4f1d"}', "parse error: invalid UTF-8"),
        (b'{"type":"error","message":"\xed\xa0\x80 canary_4f1d"}', "parse error: invalid UTF-8"),
        (b'{"type":"error","message":"\xc0\x80 canary_4f1d"}', "parse error: invalid UTF-8"),
        (b'["canary_4f1d"]', "parse error: not an object"),
        (b'"canary_4f1d"', "parse error: not an object"),
        (b"12345", "parse error: not an object"),
        (b"-1.5e3", "parse error: not an object"),
        (b"null", "parse error: not an object"),
        (b"true", "parse error: not an object"),
        (DEEP, "parse error: not an object"),
        (b'{"canary_4f1d":' * 100_000, "parse error: nesting too deep"),
        (b"[" * 100_000, "parse error: not an object"),
        (with_field(DEEP), "parse error: nesting too deep"),
        (b'{"type":"canary_4f1d","x":' + DEEP + b"}", "parse error: nesting too deep"),
        (b'{"type":"turn.completed","usage":{"canary_4f1d":' + DEEP + b"}}", "parse error: nesting too deep"),
        (b'{"type":"turn.completed","usage":{"canary_4f1d":' + BIG + b"}}", "parse error: number out of range"),
        (b'{"type":"turn.completed","usage":{"canary_4f1d":1e999}}', "parse error: number out of range"),
        (b'{"type":"turn.failed","error":-1e999}', "parse error: number out of range"),
    ],
    ids=lambda value: value[:40] if isinstance(value, bytes) else None,
)
def test_a_line_that_is_no_json_object_is_a_parse_error(reason: Reason, line: bytes, expected: str) -> None:
    assert reason(line) == expected


@pytest.mark.rule("L4", "T4")
@pytest.mark.parametrize("value", [b'"\xff"', BIG, b"-1e999"], ids=["no UTF-8", "huge", "infinite"])
def test_a_value_that_nobody_uses_is_not_looked_into(value: bytes) -> None:
    assert parse_lines([b'{"type":"tomorrow","x":' + value + b"}"]) == [Unknown(type="tomorrow")]


@pytest.mark.fault(
    "stream", "A key, type or text contains the escape of a lone surrogate", "The decoder returns one parse error"
)
@pytest.mark.rule("L4", "X1", "X3")
@rows("escape", [r"\ud83d", r"\ude00", r"\ud83d\ud83d", r"\ud83dx", r"\ud83d\n"])
@rows("place", ["used", "unused", "key", "type"])
def test_a_lone_surrogate_is_a_parse_error_wherever_it_stands(reason: Reason, escape: str, place: str) -> None:
    text = f'"{CANARY}{escape}"'
    line = {
        "used": f'{{"type":"error","message":{text}}}',
        "unused": f'{{"type":"error","message":"m","x":{text}}}',
        "key": f'{{"type":"error","message":"m",{text}:1}}',
        "type": f'{{"type":{text}}}',
    }[place]
    assert reason(line.encode()) == "parse error: malformed JSON"


@pytest.mark.fault(
    "stream",
    "An object lacks a required field or has one of the wrong type",
    "The decoder returns one normalize error that names only the adapter's field",
)
@pytest.mark.rule("L4", "X1", "X3", "T4")
@rows(
    ("line", "expected"),
    [
        ({CANARY: CANARY}, "missing field type"),
        ({"type": None, "x": CANARY}, "wrong type for field type"),
        ({"type": [CANARY]}, "wrong type for field type"),
        ({"type": {CANARY: 1}}, "wrong type for field type"),
        ({"type": 7}, "wrong type for field type"),
        ({"type": "thread.started", "x": CANARY}, "missing field thread_id"),
        ({"type": "thread.started", "thread_id": [CANARY]}, "wrong type for field thread_id"),
        ({"type": "turn.started", "turn_id": {CANARY: 1}}, "wrong type for field turn_id"),
        ({"type": "turn.started", "thread_id": 5}, "wrong type for field thread_id"),
        ({"type": "turn.completed", "usage": CANARY}, "wrong type for field usage"),
        ({"type": "error", "text": CANARY}, "missing field message"),
        ({"type": "error", "message": {CANARY: CANARY}}, "wrong type for field message"),
        ({"type": "item.completed", "item": CANARY}, "wrong type for field item"),
        ({"type": "item.completed", "item": [CANARY]}, "wrong type for field item"),
        ({"type": "item.completed", "item": {CANARY: 1}}, "missing field type"),
        ({"type": "item.completed", "item": {"type": 5, "x": CANARY}}, "wrong type for field type"),
        ({"type": "item.completed", "item": {"type": "agent_message", "text": CANARY}}, "missing field id"),
        ({"type": "item.completed", "item": {"type": "agent_message", "id": CANARY}}, "missing field text"),
        ({"type": "item.completed", "item": {"type": "todo_list", "id": CANARY}}, "missing field items"),
        ({"type": "item.completed", "item": {"type": "error", "id": CANARY}}, "missing field message"),
        (
            {"type": "item.completed", "item": {"type": "todo_list", "id": "a", "items": [{"text": [CANARY]}]}},
            "wrong type for field items",
        ),
        (
            {"type": "item.completed", "item": {"type": "file_change", "id": "a", "changes": [{CANARY: 1}]}},
            "missing field path",
        ),
        (
            {"type": "item.started", "item": {"type": "command_execution", "id": "a", "exit_code": CANARY}},
            "wrong type for field exit_code",
        ),
        (
            {"type": "item.started", "item": {"type": "command_execution", "id": "a", "exit_code": 10**30}},
            "wrong type for field exit_code",
        ),
        (
            {"type": "item.started", "item": {"type": "command_execution", "id": "a", "status": {CANARY: 1}}},
            "wrong type for field status",
        ),
    ],
    ids=str,
)
def test_an_object_that_is_no_thread_event_is_a_normalize_error(
    reason: Reason, line: dict[str, Any], expected: str
) -> None:
    assert reason(json.dumps(line).encode()) == f"normalize error: {expected}"


@pytest.mark.rule("X3")
@pytest.mark.parametrize(
    "message",
    [
        "Expected `object`, got `canary`",
        "Invalid value 'canary' - at `$.canary`",
        "Object missing required field `canary`",
        "Invalid value - at `$[...].canary[0]`",
        "",
    ],
)
def test_words_of_the_library_that_nobody_expects_are_not_passed_on(message: str) -> None:
    assert field_reason(message, _FIELDS) == "wrong shape"


@pytest.mark.rule("L2", "X2", "X3")
def test_an_oversize_line_is_a_parse_error_with_the_lines_own_length() -> None:
    assert parse_lines([OversizeLine(65, 64)])[0] == BadLine(
        "codex stream parse error (redacted): line longer than 64 bytes (line_bytes=65)", oversize=True
    )
