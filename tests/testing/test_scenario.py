"""Test that scenarios survive a JSON round trip, and that bad ones are refused with a reason."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.testing import (
    AgentCall,
    Answer,
    Keys,
    McpCall,
    Message,
    Patch,
    Plan,
    PlanStep,
    RawItem,
    Reasoning,
    Route,
    Scenario,
    ScenarioError,
    Shell,
    Usage,
    WebSearch,
    answer,
    decode_scenario,
    script,
)

from ..rows import rows

pytestmark = pytest.mark.rule("TK1")

EVERYTHING = script(
    "a text",
    Shell("ls", {"tty": True}),
    answer(Reasoning(("one", "two"), raw="three"), Keys("y\n", 1.5), Patch("*** Begin Patch\n*** End Patch", "tool")),
    answer(Plan((PlanStep("do", "completed"), PlanStep("rest"))), McpCall("srv", "echo", {"text": "hi"}), pieces=3),
    answer(WebSearch({"type": "search"}), WebSearch(), AgentCall("spawn", "go"), RawItem({"type": "new"}), usage=None),
    Answer(status=429, body={"error": {}}, headers={"Retry-After": "1"}),
    Answer(events=({"type": "response.created"}, "raw\n\n"), cut_after=1, delay=0.1, gap=0.2, linger=0.3, gate="g"),
    answer("x", end="failed", detail={"code": "broken"}, usage=Usage(1, 2, 3, 4)),
    fallback=answer("again"),
    routes=(Route("child", (answer("I am the child"),)),),
)


def test_a_scenario_comes_back_from_json_as_it_was() -> None:
    assert decode_scenario(msgspec.json.encode(EVERYTHING)) == EVERYTHING


def test_an_answer_and_a_script_take_bare_texts_and_items() -> None:
    assert answer("hi").items == (Message("hi"),)
    assert script("hi", Shell("ls")).answers == (answer("hi"), answer(Shell("ls")))
    assert script(answer("hi", delay=1.0)).answers[0].delay == 1.0


@given(st.binary() | st.text())
def test_any_other_document_is_refused_as_no_scenario(document: bytes | str) -> None:
    with pytest.raises(ScenarioError):
        decode_scenario(document)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_other_json_is_a_scenario_or_refused(value: object) -> None:
    with suppress(ScenarioError):
        assert decode_scenario(msgspec.json.encode({"answers": [{"items": value}]})) == script(answer())


def test_a_document_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ScenarioError):
        decode_scenario('{"answers":' + "[" * 100_000)


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ('{"answers":[{"items":[{"item":"shell"}]}]}', "$.answers[0].items[0]"),
        ('{"answers":[{"items":[{"item":"dance"}]}]}', "$.answers[0].items[0].item"),
        ('{"answers":[{"end":"later"}]}', "$.answers[0].end"),
        ('{"anwsers":[]}', "anwsers"),
        ('{"answers":[{},{"status":700}]}', "$.answers[1]"),
    ],
)
def test_a_refusal_says_where_the_document_is_wrong(document: str, place: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        decode_scenario(document)
    assert place in str(caught.value)


@rows(
    ("fields", "reason"),
    [
        ({"status": 99}, "status"),
        ({"status": 200, "body": "no stream"}, "body"),
        ({"status": 500, "items": (Message("hi"),)}, "neither items"),
        ({"items": (Message("hi"),), "events": ()}, "not both"),
        ({"delay": -1.0}, "or more"),
        ({"cut_after": -1}, "or more"),
        ({"pieces": 0}, "pieces"),
    ],
)
def test_an_answer_that_cannot_be_given_is_refused(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        Answer(**fields)  # type: ignore[arg-type]


def test_a_route_needs_a_pattern_and_an_answer() -> None:
    with pytest.raises(ScenarioError, match="regular expression"):
        Route("(", (Answer(),))
    with pytest.raises(ScenarioError, match="at least one answer"):
        Route("x", ())


def test_an_empty_scenario_is_one() -> None:
    assert decode_scenario("{}") == Scenario()
