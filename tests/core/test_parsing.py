"""Line -> thread event or one redacted error: every bad kind of line, and the context that lines leave out."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.core.framing import OversizeLine
from codex_adapter.core.parsing import BadLine, LineParser
from codex_adapter.core.thread_events import ThreadEvent, Unknown

CANARY = "canary_4f1d"
LIMIT = 16 * 1024 * 1024
FIELDS = frozenset(
    {
        *("type", "thread_id", "turn_id", "conversation_id", "item", "usage", "error", "message", "id", "text"),
        *("command", "aggregated_output", "exit_code", "status", "stdout", "stderr", "changes", "path", "kind"),
        *("diff", "server", "tool", "arguments", "result", "sender_thread_id", "receiver_thread_ids", "prompt"),
        *("agents_states", "query", "action", "items", "completed", "delta"),
    }
)
MESSAGE = re.compile(
    r"codex stream (?:"
    r"parse error \(redacted\): (?:malformed JSON at byte [0-9]+|invalid UTF-8|not an object|nesting too deep"
    r"|number out of range|line longer than [0-9]+ bytes)"
    r"|normalize error \(redacted\): (?:(?:missing field|wrong type for field) (?P<field>[a-z_]+)|wrong shape"
    r"|nesting too deep)"
    r") \(line_bytes=[0-9]+\)"
)
DEEP = b"[" * 100_000 + b"]" * 100_000
BIG = b"9" * 6_000


def parse(line: bytes) -> ThreadEvent | BadLine:
    return LineParser(LIMIT).parse([line])[0]


def reason(line: bytes) -> str:
    """What is wrong with the line; that nothing of it is told is checked on the way."""
    bad = parse(line)
    assert isinstance(bad, BadLine)
    assert CANARY not in repr(bad)
    assert bad.message.endswith(f" (line_bytes={len(line)})")
    assert is_canonical(bad.message)
    said = bad.message.removeprefix("codex stream ").replace(" (redacted)", "").partition(" (line_bytes")[0]
    return re.sub(" at byte [0-9]+$", "", said)


def is_canonical(message: str) -> bool:
    found = MESSAGE.fullmatch(message)
    return found is not None and (found["field"] is None or found["field"] in FIELDS)


def a_message(**more: Any) -> bytes:
    item = {"id": "item_0", "type": "agent_message", "text": CANARY, **more}
    return json.dumps({"type": "item.completed", "item": item}).encode()


def with_field(raw: bytes) -> bytes:
    """A good line with one more field, which nobody uses."""
    return a_message()[:-1] + b',"canary_4f1d":' + raw + b"}"


@pytest.mark.rule("L4", "X1", "X2", "X3")
@pytest.mark.parametrize(
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
        (b'{"type":"canary_4f1d","x":"\xff"}', "parse error: invalid UTF-8"),
        (b'["canary_4f1d"]', "parse error: not an object"),
        (b'"canary_4f1d"', "parse error: not an object"),
        (b"12345", "parse error: not an object"),
        (b"-1.5e3", "parse error: not an object"),
        (b"null", "parse error: not an object"),
        (b"true", "parse error: not an object"),
        (DEEP, "parse error: nesting too deep"),
        (b'{"canary_4f1d":' * 100_000, "parse error: nesting too deep"),
        (b"[" * 100_000, "parse error: nesting too deep"),
        (with_field(DEEP), "parse error: nesting too deep"),
        (b'{"type":"canary_4f1d","x":' + DEEP + b"}", "parse error: nesting too deep"),
        (b'{"type":"turn.completed","usage":{"canary_4f1d":' + DEEP + b"}}", "parse error: nesting too deep"),
        (b'{"type":"turn.completed","usage":{"canary_4f1d":' + BIG + b"}}", "parse error: number out of range"),
        (b'{"type":"turn.completed","usage":{"canary_4f1d":1e999}}', "parse error: number out of range"),
        (b'{"type":"turn.failed","error":-1e999}', "parse error: number out of range"),
        (b'{"type":"canary_4f1d","x":' + BIG + b"}", "parse error: number out of range"),
    ],
    ids=lambda value: value[:40] if isinstance(value, bytes) else None,
)
def test_a_line_that_is_no_json_object_is_a_parse_error(line: bytes, expected: str) -> None:
    assert reason(line) == expected


@pytest.mark.rule("L4", "X1", "X3")
@pytest.mark.parametrize("escape", [r"\ud83d", r"\ude00", r"\ud83d\ud83d", r"\ud83dx", r"\ud83d\n"])
@pytest.mark.parametrize("place", ["used", "unused", "key", "type"])
def test_a_lone_surrogate_is_a_parse_error_wherever_it_stands(escape: str, place: str) -> None:
    text = f'"{CANARY}{escape}"'
    line = {
        "used": f'{{"type":"error","message":{text}}}',
        "unused": f'{{"type":"error","message":"m","x":{text}}}',
        "key": f'{{"type":"error","message":"m",{text}:1}}',
        "type": f'{{"type":{text}}}',
    }[place]
    assert reason(line.encode()) == "parse error: malformed JSON"


@pytest.mark.rule("L4", "X1", "X3", "T4")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({CANARY: CANARY}, "missing field type"),
        ({"type": None, "x": CANARY}, "missing field type"),
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
def test_an_object_that_is_no_thread_event_is_a_normalize_error(line: dict[str, Any], expected: str) -> None:
    assert reason(json.dumps(line).encode()) == f"normalize error: {expected}"


@pytest.mark.rule("L2", "X2", "X3")
def test_an_oversize_line_is_a_parse_error_with_the_lines_own_length() -> None:
    assert LineParser(64).parse([OversizeLine(65)])[0] == BadLine(
        "codex stream parse error (redacted): line longer than 64 bytes (line_bytes=65)"
    )


@pytest.mark.rule("L4", "T5")
@pytest.mark.parametrize("raw", [b"1e999", BIG, b'"\xff"', b'{"\xff":[null]}', b"[[[[]]]]", b'"\\u0000"'])
def test_what_stands_in_a_field_that_nobody_uses_does_no_harm(raw: bytes) -> None:
    assert parse(with_field(raw)) == parse(a_message())


@pytest.mark.rule("L4")
@pytest.mark.parametrize("depth", [900, 990, 1000, 1010, 2000, 5000, 20_000])
@pytest.mark.parametrize(
    "around",
    [
        b'{"type":"turn.failed","error":%b}',
        b'{"type":"item.completed","item":{"id":"a","type":"mcp_tool_call","result":%b}}',
        b'{"type":"item.completed","item_type":"mcp_tool_call","item_id":"a","result":%b}',
        b'{"type":"item.delta","item_type":"agent_message","item_id":"a","text":"t","x":%b}',
        b'{"type":"tomorrow","x":%b}',
    ],
)
def test_nesting_at_the_edge_of_what_can_be_read_is_one_outcome(around: bytes, depth: int) -> None:
    found = parse(around % (b"[" * depth + b"]" * depth))
    assert not isinstance(found, BadLine) or is_canonical(found.message)


@pytest.mark.rule("L4")
@pytest.mark.parametrize(
    ("line", "same_as"),
    [
        (b'{"type":"turn.completed","type":"turn.started"}', b'{"type":"turn.started"}'),
        (b'{"type":"turn.started","type":"tomorrow"}', b'{"type":"tomorrow"}'),
        (b'{"type":"tomorrow","type":"turn.started"}', b'{"type":"turn.started"}'),
        (b'{"type":"turn.started","type":7}', b'{"type":7}'),
        (b'{"type":7,"type":"turn.started"}', b'{"type":"turn.started"}'),
        (b'{"type":"error","message":"a","message":"b"}', b'{"type":"error","message":"b"}'),
        (
            b'{"type":"item.completed","item":{"id":"a","type":"reasoning","text":"t","type":"agent_message"}}',
            b'{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"t"}}',
        ),
        (
            b'{"type":"item.started","item":[],"item":{"id":"a","type":"web_search","id":"b","query":"q"}}',
            b'{"type":"item.started","item":{"id":"b","type":"web_search","query":"q"}}',
        ),
        (
            b'{"type":"item.started","item":{"id":"a","type":"mcp_tool_call","result":{"a":1}},"type":"item.completed"}',
            b'{"type":"item.completed","item":{"id":"a","type":"mcp_tool_call","result":{"a":1}}}',
        ),
    ],
)
def test_of_a_repeated_key_the_last_value_counts(line: bytes, same_as: bytes) -> None:
    found, expected = parse(line), parse(same_as)
    if isinstance(expected, BadLine):
        assert isinstance(found, BadLine)
        assert found.message.partition(" (line_bytes")[0] == expected.message.partition(" (line_bytes")[0]
    else:
        assert found == expected


@pytest.mark.rule("L4")
@pytest.mark.parametrize("escape", ["\\u0000", "\\u2028", "\\ud83d\\ude00", "\\ufffe"])
def test_characters_of_every_kind_are_text_when_they_are_escaped(escape: str) -> None:
    found = parse(f'{{"type":"error","message":"{escape}"}}'.encode())
    assert getattr(found, "message", None) == json.loads(f'"{escape}"')


@pytest.mark.rule("L4", "P4")
def test_a_line_may_be_any_buffer() -> None:
    assert parse(bytearray(a_message())) == parse(a_message())
    assert parse(bytearray(b"{")) == parse(b"{")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(CANARY),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from(sorted(FIELDS)), values, max_size=4),
    max_leaves=8,
)
LINE_TYPES = ("thread.started", "turn.started", "turn.completed", "turn.failed", "error", "item.started")
LINE_TYPES += ("item.completed", "item.updated", "item.failed", "item.created", "item.delta", "thread.resumed")
ITEM_TYPES = ("agent_message", "reasoning", "command_execution", "file_change", "mcp_tool_call", "collab_tool_call")
ITEM_TYPES += ("web_search", "todo_list", "error", "assistant_message", CANARY)
ITEMS = st.builds(
    lambda fields, item_type: {**fields, "type": item_type},
    st.dictionaries(st.sampled_from([*sorted(FIELDS), "content", "delta", CANARY]), JSON_VALUES, max_size=5),
    st.sampled_from(ITEM_TYPES),
)
LINES = st.builds(
    lambda fields, item, line_type: {**fields, **item, "type": line_type},
    st.dictionaries(st.sampled_from([*sorted(FIELDS), "item_type", "content", CANARY]), JSON_VALUES, max_size=5),
    st.builds(lambda item: {"item": item}, ITEMS | JSON_VALUES) | st.just({}),
    st.sampled_from([*LINE_TYPES, CANARY]),
)


@pytest.mark.rule("L4", "X1", "X3")
@given(JSON_VALUES | LINES)
def test_any_json_value_has_one_typed_outcome_that_tells_nothing_of_it(value: Any) -> None:
    line = json.dumps(value, ensure_ascii=False).encode("utf-8", errors="surrogatepass")
    found = parse(line)
    if isinstance(found, BadLine):
        assert is_canonical(found.message)
        assert CANARY not in found.message


@pytest.mark.rule("L4", "X1", "X3")
@given(st.binary(max_size=60))
def test_any_bytes_have_one_typed_outcome(line: bytes) -> None:
    found = parse(line)
    assert not isinstance(found, BadLine) or is_canonical(found.message)


@pytest.mark.rule("L4", "X1", "X3")
@given(st.data())
def test_a_damaged_line_has_one_typed_outcome_that_tells_nothing_of_it(data: st.DataObject) -> None:
    line = bytearray(json.dumps(data.draw(LINES)).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(line)))
        line[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=3))
    found = parse(bytes(line))
    if isinstance(found, BadLine):
        assert is_canonical(found.message)
        assert CANARY not in found.message


@pytest.mark.rule("T4")
@pytest.mark.parametrize(
    ("line", "names"),
    [
        ({"type": "turn.paused", "x": 1}, ("turn.paused", None)),
        ({"type": "", "x": 1}, ("", None)),
        ({"type": "item.moved", "item": {"type": "agent_message"}}, ("item.moved", "agent_message")),
        ({"type": "item.moved", "item_type": "web_search"}, ("item.moved", "web_search")),
        ({"type": "item.started", "item": {"id": "a", "type": "image"}}, ("item.started", "image")),
        ({"type": "item.started", "item": {"type": "image"}}, ("item.started", "image")),
        ({"type": "item.failed", "item": {"type": "image"}, "error": {}}, ("item.failed", "image")),
        ({"type": "item.delta", "item_type": "image", "item_id": "a"}, ("item.delta", "image")),
    ],
)
def test_a_name_that_nobody_knows_is_unknown_and_no_error(
    line: dict[str, Any], names: tuple[str | None, str | None]
) -> None:
    found = parse(json.dumps(line).encode())
    assert isinstance(found, Unknown)
    assert (found.type, found.item_type) == names


@pytest.mark.rule("T5")
@given(st.dictionaries(st.text(min_size=1, max_size=8).map(lambda name: f"x-{name}"), JSON_VALUES, max_size=4))
def test_unknown_fields_change_nothing(unknown: dict[str, Any]) -> None:
    for known in (
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.completed", "usage": {"input_tokens": 1}},
        {"type": "error", "message": "m"},
        {"type": "item.completed", "item": {"id": "a", "type": "agent_message", "text": "t"}},
    ):
        assert parse(
            json.dumps({**unknown, **known}, allow_nan=True).replace("NaN", "0").replace("Infinity", "0").encode()
        ) == parse(json.dumps(known).encode())
