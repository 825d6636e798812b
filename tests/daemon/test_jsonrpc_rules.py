"""Test the JSON-RPC checker with the examples of the specification and one violation of each rule."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..rows import rows
from .json_text import NotJsonError, UnclearError, parse
from .jsonrpc_rules import LARGEST_BATCH, LONGEST, Line, broken_rules

pytestmark = pytest.mark.rule("J1", "J6")

ASK = '> {"jsonrpc":"2.0","method":"m","id":1}'
TELL = '> {"jsonrpc":"2.0","method":"m"}'
OK = '< {"jsonrpc":"2.0","result":{},"id":1}'


def log(*lines: str) -> list[Line]:
    """A conversation; what begins with `>` is from the client."""
    return [Line(line[0] == ">", line[2:].encode("utf-8", "surrogateescape")) for line in lines]


def error(id_: str = "1", code: object = -32601, message: object = "no") -> str:
    return f'< {{"jsonrpc":"2.0","error":{{"code":{code},"message":{json.dumps(message)}}},"id":{id_}}}'


@rows(
    "lines",
    [
        [],
        [ASK, OK],
        [ASK, '< {"id":1,"result":null,"jsonrpc":"2.0"}'],
        [ASK, error()],
        [TELL],
        [ASK, '> {"jsonrpc":"2.0","method":"m","id":2}', '< {"jsonrpc":"2.0","result":2,"id":2}', OK],
        ['> {"jsonrpc":"2.0","method":"m","id":"\\u0041é"}', '< {"jsonrpc":"2.0","result":{},"id":"\\u0041é"}'],
        ['> {"jsonrpc":"2.0","method":"m","id":1e400}', '< {"jsonrpc":"2.0","result":{},"id":1e400}'],
        ['> {"jsonrpc":"2.0","method":"m","id":null}', '< {"jsonrpc":"2.0","result":{},"id":null}'],
        ['> {"jsonrpc":"2.0","method":"foobar, "params":"bar","baz]', error("null", -32700)],
        ['> {"jsonrpc":"2.0","method":1,"params":"bar"}', error("null", -32600)],
        ['> {"jsonrpc":"2.0","method":1,"id":7}', error("7", -32600)],
        ['> {"jsonrpc":"2.0","method":1,"id":7}', error("null", -32600)],
        ['> [{"jsonrpc":"2.0","method":"sum","params":[1],"id":"1"},{"jsonrpc":"2.0","method"]', error("null", -32700)],
        ["> []", error("null", -32600)],
        ["> [" + "1," * LARGEST_BATCH + "1]", error("null", -32600)],
        ["> [1]", "< [" + error("null", -32600)[2:] + "]"],
        ["> [1,2]", "< [" + ",".join([error("null", -32600)[2:]] * 2) + "]"],
        ["> [" + TELL[2:] + "," + TELL[2:] + "]"],
        ["> [" + ASK[2:] + "," + TELL[2:] + "]", "< [" + OK[2:] + "]"],
        ["> ", ">  \r"],
        ["> " + "[" * 100_000, error("null", -32700)],
        ['> {"jsonrpc":"2.0","id":null,"method":"m"}', "> {", error("null", -32700), error("null", -32602)],
        ['> {"jsonrpc":"2.0","result":1,"id":1}', error("null", -32600)],
        ['< {"jsonrpc":"2.0","method":"run/event","params":{}}'],
    ],
)
def test_what_the_specification_allows_passes(lines: list[str]) -> None:
    assert broken_rules(log(*lines)) == []


def test_a_line_that_is_too_long_is_answered_with_an_error() -> None:
    too_long = "> " + "x" * (LONGEST + 1)
    assert broken_rules(log(too_long, error("null", -32600))) == []
    assert any("a request is not answered" in rule for rule in broken_rules(log(too_long)))


@rows(
    ("broken", "lines"),
    [
        ("not one JSON value", ["< {}{}"]),
        ("not one JSON value", ["< "]),
        ("not one JSON value", ["< \udcff"]),
        ("not one JSON value", [ASK, "< {'jsonrpc':1}"]),
        ("is no message", ["< 1"]),
        ('jsonrpc is not "2.0"', [ASK, '< {"jsonrpc":2.0,"result":{},"id":1}']),
        ('jsonrpc is not "2.0"', [ASK, '< {"result":{},"id":1}']),
        ("not exactly one of result and error", [ASK, '< {"jsonrpc":"2.0","id":1}']),
        ("not exactly one", [ASK, '< {"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}']),
        ("members of its own", [ASK, '< {"jsonrpc":"2.0","id":1,"result":1,"more":1}']),
        ("an answer has no id", [ASK, '< {"jsonrpc":"2.0","result":1}']),
        ("an id is neither", [ASK, '< {"jsonrpc":"2.0","id":[1],"result":1}']),
        ("an error is no object", [ASK, '< {"jsonrpc":"2.0","id":1,"error":"no"}']),
        ("is no integer", [ASK, error(code="1.5")]),
        ("is no integer", [ASK, error(code='"1"')]),
        ("is no integer", [ASK, error(code="1e2")]),
        ("is reserved", [ASK, error(code=-32500)]),
        ("is reserved", [ASK, error(code=-32100)]),
        ("message of an error", [ASK, error(message=None)]),
        ("an error has members", [ASK, '< {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","hint":1}}']),
        ("a request is not answered", [ASK]),
        ("a request is not answered", [ASK, ASK, OK]),
        ("an answer to nothing", [ASK, OK, OK]),
        ("an answer to nothing", [OK, ASK]),
        ("an answer to nothing", [TELL, error("null", -32601)]),
        ("an answer to nothing", [ASK, '< {"jsonrpc":"2.0","result":{},"id":1.0}', OK]),
        ("an answer to nothing", [ASK, '< {"jsonrpc":"2.0","result":{},"id":"1"}', OK]),
        ("an answer to nothing", [ASK, error("null"), OK]),
        ("an answer to nothing", ['> {"jsonrpc":"2.0","method":"m","id":"A"}', OK.replace("1}", '"\\u0041"}')]),
        ("an answer to nothing", ["> {", error("null", -32600)]),
        ("an answer to nothing", ['> {"jsonrpc":"1.0","method":"m","id":1}', OK]),
        ("an answer to nothing", ["> 1", error("null", -32700)]),
        ("an answer to nothing", [ASK, error("1", -32700)]),
        ("an answer to nothing", ["> [1]", error("null", -32600)]),
        ("an answer to nothing", ["> ", error("null", -32700)]),
        ("a request is not answered", ["> []", "< []"]),
        ("a request is not answered", ["> " + "[" * 1000]),
        ("an empty array", ["> []", "< []", error("null", -32600)]),
        ("an empty array", ["> [" + TELL[2:] + "]", "< []"]),
        ("an answer to no batch", [ASK, "< [" + OK[2:] + "]", OK]),
        ("an answer to no batch", ["> [" + ASK[2:] + "]", "< [" + OK[2:] + "," + OK[2:] + "]"]),
        ("an answer to no batch", ["> [" + ASK[2:] + ",1]", "< [" + OK[2:] + "]"]),
        ("an answer to no batch", ["> [" + ASK[2:] + "]", "< [" + OK.replace("1}", "2}")[2:] + "]"]),
        ("is no object", ["> [" + ASK[2:] + "]", "< [1]"]),
        ("a batch is not answered", ["> [" + ASK[2:] + "]", OK]),
        ("a notification has an id", ['< {"jsonrpc":"2.0","method":"m","id":1}']),
        ("members of its own", ['< {"jsonrpc":"2.0","method":"m","result":1}']),
        ("method is no string", ['< {"jsonrpc":"2.0","method":null}']),
        ("are reserved", ['< {"jsonrpc":"2.0","method":"rpc.m"}']),
        ("params are neither", ['< {"jsonrpc":"2.0","method":"m","params":null}']),
    ],
)
def test_what_the_specification_forbids_is_found(broken: str, lines: list[str]) -> None:
    found = broken_rules(log(*lines))
    assert [fault for fault in found if broken in fault], found


def test_of_a_conversation_that_was_cut_off_only_the_end_may_be_missing() -> None:
    assert broken_rules(log(ASK, "> [" + ASK[2:] + "]"), whole=False) == []
    assert broken_rules(log(OK), whole=False) != []


@given(st.one_of(st.binary(max_size=40), st.text(' {}[]",:\\u0123e+-.truefalsn', max_size=30).map(str.encode)))
def test_what_the_checker_takes_for_json_is_what_the_standard_library_takes(data: bytes) -> None:
    def reject(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(data.decode(), parse_constant=reject)
        expected = True
    except ValueError:
        expected = False
    try:
        parse(data)
        found = True
    except NotJsonError:
        found = False
    except UnclearError:
        return
    assert found is expected


@pytest.mark.parametrize("data", [b"[" * 1000, rb'"\ud800"', rb'{"\udc00":1}', rb'["\ude00\ud83d"]'])
def test_what_is_json_to_some_is_not_judged(data: bytes) -> None:
    with pytest.raises(UnclearError):
        parse(data)


def test_a_whole_surrogate_pair_is_json() -> None:
    assert parse(rb'"\ud83d\ude00"').kind == "string"
