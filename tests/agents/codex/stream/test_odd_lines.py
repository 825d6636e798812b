"""Test unusual but valid lines: repeated keys, unused fields and unknown names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from codex_adapter.agents.codex.stream.line_parser import parse_lines
from codex_adapter.agents.codex.stream.lines import ThreadEvent, Unknown
from codex_adapter.core.bad_lines import BadLine

from ....rows import rows

MESSAGE = b'{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"t"}}'
BIG = b"9" * 6_000


def parse(line: bytes | bytearray) -> ThreadEvent | BadLine:
    return parse_lines([line])[0]


@pytest.mark.rule("L4", "T5")
@rows("raw", [b"1e999", BIG, b'"\xff"', b'{"\xff":[null]}', b"[[[[]]]]", b'"\\u0000"'])
def test_what_stands_in_a_field_that_nobody_uses_does_no_harm(raw: bytes) -> None:
    assert parse(MESSAGE[:-1] + b',"x":' + raw + b"}") == parse(MESSAGE)


@pytest.mark.fault(
    "stream", "The nesting of a line is near the limit of the decoder", "The decoder returns one event or one error"
)
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
def test_nesting_at_the_edge_of_what_can_be_read_is_one_outcome(
    is_canonical: Callable[[str], bool], around: bytes, depth: int
) -> None:
    found = parse(around % (b"[" * depth + b"]" * depth))
    assert not isinstance(found, BadLine) or is_canonical(found.message)


@pytest.mark.fault("stream", "A line contains a key twice, even the key `type`", "The decoder uses the last value")
@pytest.mark.rule("L4")
@rows(
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
    assert parse(bytearray(MESSAGE)) == parse(MESSAGE)
    assert parse(bytearray(b"{")) == parse(b"{")


@pytest.mark.fault(
    "stream", "The type of a line or an item is unknown", "The decoder returns an unknown event and no error"
)
@pytest.mark.rule("T4")
@rows(
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
