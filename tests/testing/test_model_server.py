"""Test the answers of the scripted model server over plain HTTP."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.testing import Answer, Message, ModelServer, Route, Shell, Usage, answer, script
from codex_adapter.testing.model_server.events import events_of

from ..waiting import SOON

pytestmark = pytest.mark.rule("TK1")

Events = list[dict[str, Any]]


@contextmanager
def _connected(server: ModelServer) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=SOON)) as connection:
        yield connection


def _post(connection: http.client.HTTPConnection, request: object, **headers: str) -> tuple[int, bytes]:
    connection.request("POST", "/v1/responses", json.dumps(request), headers)
    response = connection.getresponse()
    return response.status, response.read()


def _ask(server: ModelServer, request: object = None) -> Events:
    with _connected(server) as connection:
        status, body = _post(connection, request or {})
    assert status == 200
    return _events(body)


def _events(body: bytes) -> Events:
    blocks = body.decode().removesuffix("\n\n").split("\n\n")
    events = [json.loads(block.split("\ndata: ")[1]) for block in blocks]
    assert [block.split("\n")[0] for block in blocks] == [f"event: {event['type']}" for event in events]
    return events


def _texts(events: Events) -> list[str]:
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return [item["content"][0]["text"] for item in done if item["type"] == "message"]


def test_request_n_gets_answer_n_and_is_remembered() -> None:
    with ModelServer(script("one", "two")) as server:
        assert [_texts(_ask(server, {"input": [n]})) for n in (1, 2)] == [["one"], ["two"]]
        assert server.requests == [{"input": [1]}, {"input": [2]}]


def test_an_answer_is_a_stream_that_ends_with_its_usage() -> None:
    with ModelServer(script(answer("hi", usage=Usage(7, 1, 2, 3)))) as server:
        events = _ask(server)
    assert [event["type"] for event in events] == [
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
    ]
    assert events[-1]["response"]["usage"] == {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 1},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 9,
    }


def test_a_request_too_many_is_refused_with_the_reason() -> None:
    with ModelServer(script("one")) as server, _connected(server) as connection:
        _post(connection, {})
        status, body = _post(connection, {})
    assert status == 400
    assert b"the scenario has 1 answers" in body


def test_the_fallback_answers_when_the_answers_are_used_up() -> None:
    with ModelServer(script("one", fallback=answer("again"))) as server:
        assert [_texts(_ask(server)) for _ in range(3)] == [["one"], ["again"], ["again"]]


def test_a_route_takes_the_requests_that_match_it() -> None:
    child = Route("CHILD", (answer("child one"), answer("child two")))
    with ModelServer(script("one", "two", routes=(child,))) as server:
        bodies = ("parent", "CHILD", "CHILD", "parent", "CHILD")
        texts = [_texts(_ask(server, {"input": body}))[0] for body in bodies]
    assert texts == ["one", "child one", "child two", "two", "child two"]


def test_the_tool_of_a_call_is_the_one_that_its_request_offers() -> None:
    with ModelServer(script(fallback=answer(Shell("ls")))) as server:
        names = ("exec_command", "shell_command")
        asked = [_ask(server, {"tools": [{"type": "function", "name": name}]}) for name in names]
    assert [events[2]["item"]["name"] for events in asked] == list(names)


def test_ids_are_not_given_twice() -> None:
    with ModelServer(script(fallback=answer(Shell("a"), Shell("b")))) as server:
        items = [event["item"] for _ in range(2) for event in _ask(server) if event["type"].endswith("item.done")]
    assert len({item["call_id"] for item in items}) == 4


@pytest.mark.parametrize(("end", "last"), [("failed", "response.failed"), ("incomplete", "response.incomplete")])
def test_a_response_can_fail(end: str, last: str) -> None:
    with ModelServer(script(answer("hi", end=end, detail={"reason": "why"}))) as server:
        event = _ask(server)[-1]
    assert event["type"] == last
    assert {"reason": "why"} in event["response"].values()


def test_a_stream_can_end_without_a_terminal_event() -> None:
    with ModelServer(script(answer("hi", end="none"))) as server:
        assert _ask(server)[-1]["type"] == "response.output_item.done"


def test_a_response_can_tell_no_usage() -> None:
    with ModelServer(script(answer("hi", usage=None))) as server:
        assert "usage" not in _ask(server)[-1]["response"]


def test_literal_events_are_sent_as_they_are() -> None:
    answers = Answer(events=({"type": "of.tomorrow"}, "", "no event at all\n\n"))
    with ModelServer(script(answers)) as server, _connected(server) as connection:
        assert _post(connection, {}) == (
            200,
            b'event: of.tomorrow\ndata: {"type": "of.tomorrow"}\n\nno event at all\n\n',
        )


def test_a_refusal_has_its_status_its_headers_and_its_body() -> None:
    refusal = Answer(status=429, body={"error": 1}, headers={"Retry-After": "7"})
    bare = Answer(status=503)
    text = Answer(status=500, body="<html>", headers={"Content-Type": "text/html"})
    with ModelServer(script(refusal, bare, text)) as server, _connected(server) as connection:
        connection.request("POST", "/v1/responses", "{}")
        response = connection.getresponse()
        assert (response.status, response.headers["Retry-After"], response.read()) == (429, "7", b'{"error": 1}')
        assert _post(connection, {}) == (503, b"")
        connection.request("POST", "/v1/responses", "{}")
        response = connection.getresponse()
        assert (response.status, response.headers["Content-Type"], response.read()) == (500, "text/html", b"<html>")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_cut_stream_breaks_off_after_that_many_events(count: int) -> None:
    with ModelServer(script(answer("hi", cut_after=count))) as server, _connected(server) as connection:
        connection.request("POST", "/v1/responses", "{}")
        with pytest.raises(http.client.IncompleteRead) as caught:
            connection.getresponse().read()
    assert caught.value.partial.count(b"event: ") == count


@given(text=st.text(), summary=st.lists(st.text()), pieces=st.integers(1, 20))
def test_the_pieces_of_a_text_make_up_the_text(text: str, summary: list[str], pieces: int) -> None:
    items: list[dict[str, Any]] = [
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": part} for part in summary]},
        {"type": "message", "id": "m", "content": [{"type": "output_text", "text": text}]},
    ]
    events = [event for event in events_of(answer(pieces=pieces), items, "1") if isinstance(event, dict)]
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    assert "".join(event["delta"] for event in deltas) == text
    assert len(deltas) <= pieces
    for index, part in enumerate(summary):
        of_part = [
            e["delta"] for e in events if e["type"].endswith("summary_text.delta") and e["summary_index"] == index
        ]
        assert "".join(of_part) == part
    assert [event["item"] for event in events if event["type"].endswith("item.done")] == items


def test_a_gate_holds_an_answer_until_it_is_opened() -> None:
    with ModelServer(script(answer("held", gate="here"), answer("later", gate="here"))) as server:
        got: list[Events] = []
        asking = threading.Thread(target=lambda: got.append(_ask(server)))
        asking.start()
        assert server.wait_for_requests(1, timeout=SOON)
        assert got == []
        server.open_gate("here")
        asking.join(SOON)
        assert _texts(got[0]) == ["held"]
        assert _texts(_ask(server)) == ["later"]


def test_waiting_for_a_request_that_does_not_come_takes_its_time_and_no_more() -> None:
    with ModelServer(script()) as server:
        assert not server.wait_for_requests(1, timeout=0.0)


def test_delays_lie_before_between_and_after_the_events() -> None:
    with ModelServer(script(answer("slow", delay=0.05, gap=0.05, linger=0.05))) as server:
        start = time.monotonic()
        _ask(server)
        assert time.monotonic() - start >= 0.05 * 5


def test_an_answer_can_be_made_without_the_builders() -> None:
    assert answer("hi") == Answer(items=(Message("hi"),))
