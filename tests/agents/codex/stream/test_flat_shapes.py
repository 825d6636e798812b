"""What is read fast means what the general way makes of it, or is left to that way."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codex_adapter.agents.codex.stream.flat_shapes import read_flat_line
from codex_adapter.agents.codex.stream.legacy import modernize
from codex_adapter.agents.codex.stream.line_parser import LineParser
from codex_adapter.agents.codex.stream.lines import DecodedEvent, ThreadEvent, Unknown

_DECODER: msgspec.json.Decoder[ThreadEvent] = msgspec.json.Decoder(DecodedEvent)


def read_fast(line: bytes) -> ThreadEvent | None:
    """None when the line is refused."""
    try:
        return read_flat_line(line)
    except Exception:  # noqa: BLE001 - a refusal may be any
        return None


def read_generally(line: bytes) -> ThreadEvent | None:
    """None when the line is a bad one."""
    try:
        return _DECODER.decode(line)
    except msgspec.DecodeError:
        pass
    try:
        modern = modernize(line)
        return modern if modern is None or isinstance(modern, Unknown) else _DECODER.decode(modern)
    except msgspec.DecodeError:
        return None


NAMES = [
    *("id", "text", "text_delta", "command", "aggregated_output", "exit_code", "status", "stdout", "stderr", "changes"),
    *("diff", "server", "server_name", "tool", "tool_name", "arguments", "result", "error", "sender_thread_id"),
    *("receiver_thread_ids", "prompt", "agents_states", "query", "action", "items", "message", "item_id", "item_type"),
    *("thread_id", "turn_id", "conversation_id", "session_id", "content", "delta", "$delta", "type", "unheard of"),
]
ITEM_TYPES = [
    *("agent_message", "assistant_message", "reasoning", "command_execution", "file_change", "mcp_tool_call"),
    *("collab_tool_call", "web_search", "todo_list", "error", "image"),
]
LINES_OF_ITEMS = ["item.created", "item.started", "item.delta", "item.updated", "item.completed"]
OTHER_LINES = [
    *("item.failed", "thread.started", "thread.resumed", "turn.started", "turn.completed", "turn.failed", "error"),
    "tomorrow",
]
TEXTS = st.sampled_from(["", "words", "é\n", "agent_message"])
ODD = st.none() | st.booleans() | st.sampled_from([0, 3, -1, 2**63, 10**400, 1.5]) | TEXTS
ANYTHING = st.recursive(ODD, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2))
RIGHT: dict[str, st.SearchStrategy[Any]] = {
    "exit_code": st.none() | st.integers(-1, 3),
    "changes": st.lists(st.fixed_dictionaries({"path": TEXTS, "kind": TEXTS}), max_size=2),
    "items": st.lists(st.fixed_dictionaries({"text": TEXTS}, optional={"completed": st.booleans()}), max_size=2),
    "receiver_thread_ids": st.lists(TEXTS, max_size=2),
    **dict.fromkeys(("arguments", "result", "error", "agents_states", "action"), ANYTHING),
    **dict.fromkeys(("sender_thread_id", "prompt", "thread_id", "turn_id", "conversation_id"), st.none() | TEXTS),
    "item_type": st.sampled_from(ITEM_TYPES),
    "type": st.sampled_from(ITEM_TYPES + LINES_OF_ITEMS),
}
Pairs = list[tuple[str, Any]]


@st.composite
def pairs(draw: st.DrawFn, depth: int = 2) -> Pairs:
    """Keys and values of an object in any order, the values mostly right, a key perhaps twice."""
    found: Pairs = []
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=6)):
        value: Any
        if name in {"content", "delta"} and depth:
            value = draw(TEXTS | pairs(depth - 1).map(as_object) | ANYTHING)
        else:
            value = draw(st.one_of(*(6 * [RIGHT.get(name, TEXTS)]), ANYTHING))
        found.append((name, value))
    return found


class Text(str):
    """JSON that is written as it stands."""


def as_object(found: Pairs) -> Text:
    return Text("{" + ",".join(f"{json.dumps(name)}:{as_json(value)}" for name, value in found) + "}")


def as_json(value: Any) -> str:
    return value if isinstance(value, Text) else json.dumps(value)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """The line of an item, mostly with what it needs."""
    needed: Pairs = [("type", draw(st.sampled_from(4 * LINES_OF_ITEMS + OTHER_LINES)))]
    if draw(st.integers(0, 9)):
        needed += [("item_type", draw(st.sampled_from(ITEM_TYPES))), ("item_id", "a")]
    if not draw(st.integers(0, 3)):
        item = [("id", "a"), ("type", draw(st.sampled_from(ITEM_TYPES))), *draw(pairs())]
        needed.append(("item", draw(st.just(as_object(item)) | ANYTHING)))
    return as_object(draw(st.permutations(needed + draw(pairs())))).encode()


FLAT = b'{"type":"item.completed","item_type":%b,"item_id":"a",%b}'


@pytest.mark.rule("T2")
@given(lines())
@example(FLAT % (b'"command_execution"', b'"exit_code":null,"content":{"exit_code":1,"command":"ls"}'))
@example(FLAT % (b'"file_change"', b'"content":{"delta":{"diff":"d"}}'))
@example(b'{"type":"item.delta","item":{"id":"a","type":"agent_message","text":"t"}}')
def test_what_is_read_fast_is_what_the_general_way_makes_of_it(line: bytes) -> None:
    fast = read_fast(line)
    assert fast is None or fast == read_generally(line)


@pytest.mark.rule("T2")
@pytest.mark.parametrize(
    "line",
    [
        FLAT % (b'"reasoning"', b'"text":"t","content":"c","text_delta":"e","delta":"d"'),
        FLAT % (b'"reasoning"', b'"content":"c","delta":"d"'),
        FLAT % (b'"assistant_message"', b'"delta":"d"'),
        FLAT % (b'"agent_message"', b'"text_delta":"e","delta":{"text_delta":"d"}'),
        b'{"type":"item.delta","item_type":"agent_message","item_id":"a","text":"t","text_delta":"d"}',
        b'{"type":"item.delta","item_type":"command_execution","item_id":"a","delta":{"stdout":"s"},"content":"c"}',
        FLAT % (b'"command_execution"', b'"status":"failed","content":{"status":"completed","exit_code":0}'),
        FLAT % (b'"file_change"', b'"changes":[{"path":"p","kind":"add"}],"status":"completed","x":[1]'),
        FLAT % (b'"mcp_tool_call"', b'"content":{"server":"s","arguments":{"a":[]},"result":null}'),
        FLAT % (b'"collab_tool_call"', b'"tool":"wait","prompt":null,"agents_states":{},"receiver_thread_ids":["r"]'),
        FLAT % (b'"web_search"', b'"query":"q","action":{"type":"search"}'),
        FLAT % (b'"todo_list"', b'"items":[{"text":"one","completed":true}]'),
        FLAT % (b'"error"', b'"message":"m","thread_id":"T","turn_id":"U"'),
        b'{"type":"item.updated","item":{"id":"a","type":"web_search","query":"q"},"conversation_id":"C"}',
        b'{"type":"turn.completed","usage":{"input_tokens":1}}',
    ],
)
def test_a_flat_line_is_read_fast(line: bytes) -> None:
    fast = read_fast(line)
    assert fast is not None
    assert fast == read_generally(line)


@pytest.mark.rule("T2", "T4")
@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"item.completed","item_type":"reasoning","text":"t"}',
        b'{"type":"item.completed","item_id":"a","content":{"type":"reasoning","text":"t"}}',
        FLAT % (b'"image"', b'"text":"t"'),
        FLAT % (b'"reasoning"', b'"text":"t","id":"b"'),
        FLAT % (b'"reasoning"', b'"x":1'),
        FLAT % (b'"todo_list"', b'"x":1'),
        FLAT % (b'"error"', b'"x":1'),
        FLAT % (b'"reasoning"', b'"text":null'),
        FLAT % (b'"mcp_tool_call"', b'"server_name":"s"'),
    ],
)
def test_what_a_line_lacks_or_has_oddly_is_left_to_the_general_way(line: bytes) -> None:
    assert read_fast(line) is None


@pytest.mark.rule("T1", "T2", "T5")
def test_a_stream_may_go_back_and_forth_between_the_shapes() -> None:
    flat = FLAT % (b'"reasoning"', b'"text":"t"')
    item = b'"item":{"id":"a","type":"reasoning","text":"t"}'
    today = b'{"type":"item.completed",%s,"id":"ignored"}' % item
    assert read_fast(today) is None
    first, *others = LineParser().parse([flat, today, flat, today, today, flat, flat])
    assert others == [first] * 6
