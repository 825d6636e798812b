"""Test that any line yields one typed outcome, and that an error contains no data of a bad line."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.core.bad_lines import BadLine
from tests.agents.agent_lines import AgentLines
from tests.agents.table import each_agent

CANARY = "canary_4f1d"


def parse(agent: AgentLines, line: bytes) -> object:
    return agent.parse([line])[0]


def check(agent: AgentLines, found: object) -> None:
    """Check that the description of a bad line is one of the closed list, without data of the line."""
    if isinstance(found, BadLine):
        match = MESSAGE.fullmatch(found.message)
        assert match is not None
        assert match["kind"] == agent.kind
        assert match["field"] is None or match["field"] in agent.fields
        assert CANARY not in found.message


MESSAGE = re.compile(
    r"(?P<kind>[a-z_]+) stream (?:"
    r"parse error \(redacted\): (?:malformed JSON at byte [0-9]+|invalid UTF-8|not an object|nesting too deep"
    r"|number out of range|line longer than [0-9]+ bytes)"
    r"|normalize error \(redacted\): (?:(?:missing field|wrong type for field) (?P<field>[a-z_]+)|wrong shape"
    r"|nesting too deep)"
    r") \(line_bytes=[0-9]+\)"
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def values(agent: AgentLines) -> st.SearchStrategy[Any]:
    """Return JSON values of any type, whose keys are names of the agent's lines."""
    names = st.sampled_from([*agent.names, CANARY])
    return st.recursive(
        st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=5) | names,
        lambda values: st.lists(values, max_size=3) | st.dictionaries(names, values, max_size=4),
        max_leaves=8,
    )


def lines(agent: AgentLines) -> st.SearchStrategy[dict[str, Any]]:
    """Return lines of the agent with some fields changed: a sample or nothing, with random fields, and a type."""
    return st.builds(
        lambda sample, fields, line_type: {**sample, **fields, "type": line_type},
        st.sampled_from([{}, *agent.samples]),
        st.dictionaries(st.sampled_from([*agent.names, CANARY]), values(agent), max_size=5),
        st.sampled_from([*agent.types, CANARY]),
    )


@pytest.mark.fault(
    "stream",
    "A line contains an arbitrary JSON value",
    "The decoder returns one event, or one error without data of the line",
)
@pytest.mark.rule("L4", "X1", "X3")
@given(st.data())
@each_agent
def test_any_json_value_has_one_typed_outcome_that_tells_nothing_of_it(agent: AgentLines, data: st.DataObject) -> None:
    value = data.draw(values(agent) | lines(agent))
    check(agent, parse(agent, json.dumps(value, ensure_ascii=False).encode()))


@pytest.mark.rule("L4", "X1", "X3")
@given(st.binary(max_size=60))
@each_agent
def test_any_bytes_have_one_typed_outcome(agent: AgentLines, line: bytes) -> None:
    found = agent.parse([line])
    assert len(found) == bool(line.strip())
    for event in found:
        check(agent, event)


@pytest.mark.fault(
    "stream",
    "Some bytes of a line are replaced",
    "The decoder returns one event, or one error without data of the line",
)
@pytest.mark.rule("L4", "X1", "X3")
@given(st.data())
@each_agent
def test_a_damaged_line_has_one_typed_outcome_that_tells_nothing_of_it(agent: AgentLines, data: st.DataObject) -> None:
    line = bytearray(json.dumps(data.draw(lines(agent))).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(line)))
        line[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=3))
    for found in agent.parse([bytes(line)]):
        check(agent, found)


@pytest.mark.rule("T5")
@given(st.data())
@each_agent
def test_unknown_fields_change_nothing(agent: AgentLines, data: st.DataObject) -> None:
    names = st.text(min_size=1, max_size=8).map(lambda name: f"x-{name}")
    unknown = data.draw(st.dictionaries(names, values(agent), max_size=4))
    for known in agent.known:
        assert parse(agent, json.dumps({**unknown, **known}).encode()) == parse(agent, json.dumps(known).encode())
