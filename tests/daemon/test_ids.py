"""Test that responses repeat ids exactly, and that invalid requests get the correct error code."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_adapter.daemon.jsonrpc import read_message
from codex_adapter.records import encode_lines

from ..rows import rows
from .messages import encode, run
from .supervisor import Supervisor

pytestmark = pytest.mark.rule("J6", "J5")

IDS = [
    "1",
    "0",
    "-0",
    "-1",
    "1.0",
    "1.50",
    "1e0",
    "1E+2",
    "1e400",
    "-1e-400",
    "1" * 31,
    "9" * 5000,
    "null",
    '""',
    '"1"',
    '"null"',
    '"\\u0041"',
    '"A"',
    '"\\ud83d\\ude00"',
    '"😀"',
    '"\\/\\b\\f\\n\\r\\t\\\\\\""',
    '"\x85\x7f"',
    '"' + "x" * 100_000 + '"',
]


def ask(id_: str, method: str = "run/list") -> str:
    return f'{{"jsonrpc":"2.0","method":"{method}","id":{id_}}}'


def answered(id_: str, line: bytes) -> bool:
    """Whether this is an answer with this text of an id."""
    return any(b'"id":%s%s' % (id_.encode(), end) in line for end in (b",", b"}"))


def next_answer(daemon: Supervisor, line: bytes) -> bytes:
    """What the daemon answers to a line."""
    before = len(daemon.log) + 1
    daemon.send(line)
    daemon.receive_until(lambda: len(daemon.log) > before)
    return daemon.log[before].data


@rows("id_", IDS, ids=[id_[:20].encode("ascii", "backslashreplace").decode() for id_ in IDS])
@rows("method", ["run/list", "no/such"])
def test_an_id_comes_back_letter_for_letter(shared: Supervisor, id_: str, method: str) -> None:
    answer = next_answer(shared, ask(id_, method).encode())
    assert answered(id_, answer), answer


def test_what_some_readers_take_for_the_end_of_a_line_comes_back_escaped() -> None:
    (call,) = read_message('{"jsonrpc":"2.0","method":"run/list","id":"a\u2028b\u2029"}'.encode()).calls
    assert encode_lines([call.answer({})]) == b'{"jsonrpc":"2.0","id":"a\\u2028b\\u2029","result":{}}\n'


@rows(
    ("line", "code"),
    [
        ('{"jsonrpc":"2.0","method":"run/list","id":true}', -32600),
        ('{"jsonrpc":"2.0","method":"run/list","id":[1]}', -32600),
        ('{"jsonrpc":"2.0","method":"run/list","id":{}}', -32600),
        ('{"jsonrpc":"2.0","method":"run/list","id":01}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":+1}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":1.}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":.5}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":NaN}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":Infinity}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":"\\x"}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":"\t"}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":1}}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":1} {}', -32700),
        ('{"jsonrpc":"2.0","method":"run/list","id":1,}', -32700),
        ("{'jsonrpc':'2.0'}", -32700),
        ('{"jsonrpc":"2.0", "method": "foobar, "params": "bar", "baz]', -32700),
        ('[{"jsonrpc":"2.0","method":"run/list","id":1},{"jsonrpc":"2.0","method"]', -32700),
        ("\ufeff{}", -32700),
        ("nonsense", -32700),
        ('{"jsonrpc":"2.0","method":1,"params":"bar"}', -32600),
        ('{"jsonrpc":"2.0","method":null,"id":5}', -32600),
        ('{"jsonrpc":"2.0","id":6}', -32600),
        ('{"jsonrpc":"2.0","result":{},"id":7}', -32600),
        ('{"jsonrpc":"2.0","error":{"code":1,"message":""},"id":8}', -32600),
        ('{"jsonrpc":"1.0","method":"run/list","id":9}', -32600),
        ('{"jsonrpc":2.0,"method":"run/list","id":10}', -32600),
        ('{"jsonrpc":null,"method":"run/list","id":11}', -32600),
        ('{"method":"run/list","id":12}', -32600),
        ('{"jsonrpc":"2.0","method":"run/list","params":"x","id":13}', -32600),
        ('{"jsonrpc":"2.0","method":"run/list","params":null,"id":14}', -32600),
        ('{"jsonrpc":"2.0","method":"run/list","params":1,"id":15}', -32600),
        ('{"jsonrpc":"2.0","method":"run/list","params":"x"}', -32600),
        ("[]", -32600),
        ("{}", -32600),
        ("1", -32600),
        ('"text"', -32600),
        ("null", -32600),
        ("true", -32600),
    ],
)
def test_what_is_no_request_is_answered_and_the_daemon_goes_on(shared: Supervisor, line: str, code: int) -> None:
    before = len(shared.told)
    shared.send(line.encode())
    shared.silence()
    answer = shared.told[before]
    assert answer["error"]["code"] == code
    assert "data" not in answer["error"]


def test_half_of_a_surrogate_pair_is_an_id_or_no_json(shared: Supervisor) -> None:
    answer = next_answer(shared, ask('"\\ud800"').encode())
    assert answered('"\\ud800"', answer) or (answered("null", answer) and b"-32700" in answer)


@pytest.mark.rule("J5")
@rows("text", [r"\ud83d", r"\uD83D cut", r"\udc00\ud83d", r"\ud83d\ude00\ud83d", r"\\\\\ud83d\n"])
@rows("id_", ["7", '"\\ud83d\\ude00"', "1e400"])
def test_who_cuts_a_text_within_a_surrogate_pair_is_told_so(shared: Supervisor, text: str, id_: str) -> None:
    line = f'{{"jsonrpc":"2.0","id":{id_},"method":"run/cancel","params":{{"runId":"{text}"}}}}'
    answer = next_answer(shared, line.encode())
    assert answered(id_, answer)
    assert b"-32700" in answer
    assert b"surrogate" in answer


@pytest.mark.rule("J5")
@rows(
    "line",
    [
        r'{"jsonrpc":"2.0","method":"run/list","params":{"a":"\ud83d"}}',
        r'[{"jsonrpc":"2.0","id":1,"method":"run/list","params":{"a":"\ud83d"}}]',
        r'{"jsonrpc":"2.0","id":1,"method":"run/list","params":{"a":"\ud83d"}',
        r'{"jsonrpc":"2.0","id":1,"method":"run/list","params":{"a":\ud83d}}',
        r'{"jsonrpc":"2.0","id":"\udc00","method":"run/list"}',
        r'{"jsonrpc":"2.0","id":1,"method":"run/list","params":{"a":"\ud83d ü"}}',
    ],
)
def test_what_else_has_half_of_a_surrogate_pair_is_no_json(shared: Supervisor, line: str) -> None:
    answer = next_answer(shared, line.encode("latin-1"))
    assert answered("null", answer)
    assert b"-32700" in answer


@pytest.mark.rule("J6")
def test_what_only_looks_like_half_of_a_surrogate_pair_is_a_text(shared: Supervisor) -> None:
    line = r'{"jsonrpc":"2.0","id":7,"method":"run/cancel","params":{"runId":"\\ud83d \\\\ude00 \ud83d\ude00"}}'
    assert json.loads(next_answer(shared, line.encode()))["result"] == {"known": False}


def test_the_version_and_the_method_may_be_written_with_escapes(shared: Supervisor) -> None:
    shared.send(b' { "jsonrpc" : "2\\u002e0" , "\\u006dethod" : "run\\/li\\u0073t" , "id" : "escapes" } ')
    assert shared.result("escapes") == {"runs": []}


def test_a_notification_gets_no_answer_whatever_becomes_of_it(shared: Supervisor) -> None:
    shared.notify("run/list")
    shared.notify("no/such", any="thing")
    shared.notify("run/cancel", runId="never")
    shared.notify("run/cancel")
    shared.notify("run/credit", runId=1, events=-1)
    shared.notify("run/start", **run("!"))
    shared.notify("run/start", agentKind="nobody", request={"prompt": ""})
    shared.notify("initialize", protocolVersion="7")
    shared.notify("run/list", more=1)
    shared.say({"jsonrpc": "2.0", "method": "run/list", "params": [1]})
    shared.say({"jsonrpc": "2.0", "method": "shutdown", "params": ["drain"]})
    assert shared.silence() == []


def test_a_run_may_be_started_by_a_notification(shared: Supervisor) -> None:
    shared.notify("run/start", **run("unanswered"))
    assert shared.completion("unanswered")["outcome"] == "completed"


@settings(max_examples=settings().max_examples // 2)
@given(st.text(), st.integers(), st.booleans())
def test_any_id_comes_back(shared: Supervisor, text: str, number: int, ascii_: bool) -> None:
    for id_ in (text, number):
        written = json.dumps(id_, ensure_ascii=ascii_)
        try:
            line = ask(written).encode()
        except UnicodeEncodeError:  # a lone surrogate can only be written as an escape
            written = json.dumps(id_)
            line = ask(written).encode()
        assert answered(written, next_answer(shared, line))


def test_encode_is_what_a_client_writes() -> None:
    assert encode({"a": "ü"}) == '{"a":"ü"}'.encode()
