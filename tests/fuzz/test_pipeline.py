"""Test the rules of the core with the recordings and with damaged copies of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.agents.agent_lines import AgentLines
from tests.agents.table import AGENTS, each_agent
from tests.fuzz.mutations import mutated
from tests.fuzz.pipeline import GROWN, HEADER, SECRETS, check, flags_of
from tests.fuzz.seeds import CRASHES, inputs, recordings, tokens

PAYLOADS, MASKED, BY_BYTE = 1, 2, 4
LIMITS = st.integers(0, 7).map(lambda number: number << 3)
HEADERS = st.builds(
    lambda flags, limit, rest: bytes((flags | limit, *rest)),
    st.integers(0, PAYLOADS | MASKED | BY_BYTE),
    LIMITS,
    st.binary(min_size=HEADER - 1, max_size=HEADER - 1),
)
SIZES = {4_097: 43, 16_384: 26, 65_536: 51, 65_537: 57}
"""Bounds, of a message and a short line, of payloads, of texts and facets; and the option for each (see `HEADER`)."""


def of_agent(agent: AgentLines, header: bytes) -> bytes:
    """Return the header of an input for the lines of this agent."""
    return bytes((flags_of(list(AGENTS.values()).index(agent), header[0]),)) + header[1:]


@pytest.mark.rule("L4", "L5", "B6", "W1", "M0", "M1", "F2", "X1", "X2", "X3", "X5")
def test_every_recording_keeps_the_rules() -> None:
    for data in inputs():
        check(data)


@pytest.mark.rule("L4", "L5", "B6", "W1", "M0", "M1", "F2", "X1", "X2", "X3", "X5")
@pytest.mark.fault("stream", "Lines lose, change or repeat values, keys or bytes", "Each line yields one typed outcome")
@pytest.mark.parametrize("mutations", [1, 3, 10])
@given(HEADERS, st.integers(0, 2**64 - 1))
@each_agent
def test_a_damaged_recording_keeps_the_rules(agent: AgentLines, mutations: int, header: bytes, seed: int) -> None:
    random = Random(seed)
    header = of_agent(agent, header)
    stream = b"\n".join(random.choice(recordings(agent)).split(b"\n")[:8])
    for _ in range(mutations):
        stream = mutated(stream, recordings(agent), tokens(agent), random)
    note(f"python -m tests.fuzz would read: {header + stream!r}")
    check(header + stream)


@pytest.mark.rule("B1", "B2", "B3", "B4", "B5", "B6", "L5", "M7")
@pytest.mark.parametrize("size", SIZES.values(), ids=map(str, SIZES))
@pytest.mark.parametrize("flags", [0, PAYLOADS | MASKED])
@pytest.mark.parametrize("one_in", [31, pytest.param(1, marks=pytest.mark.nightly)])
@each_agent
def test_what_grows_in_any_place_of_a_line_keeps_to_the_bounds(
    agent: AgentLines, flags: int, size: int, one_in: int
) -> None:
    grown = GROWN.decode()
    for filler in range(size % one_in, 18, one_in):
        header = of_agent(agent, bytes((flags, filler, size)).ljust(HEADER, b"\x55"))
        for line in agent.seeds(grown, SECRETS[0]):
            raw = json.dumps(line).replace("\\u001a", grown).encode()
            check(header + agent.turn + raw + b"\n" + raw)


@pytest.mark.rule("X5")
@pytest.mark.parametrize("flags", [MASKED, MASKED | PAYLOADS])
@pytest.mark.parametrize("escaped", [False, True], ids=["as it is", "in escapes"])
@each_agent
def test_a_secret_in_any_place_of_a_recorded_line_never_comes_out(agent: AgentLines, flags: int, escaped: bool) -> None:
    header = of_agent(agent, bytes((flags,)).ljust(HEADER, b"\x55"))
    for line, word in each_place(agent):
        raw = json.dumps(line).replace(word, json.dumps(f"see {SECRETS[0]}, {SECRETS[1]}")[1:-1])
        if escaped:
            raw = raw.replace(SECRETS[0], "".join(f"\\u{ord(letter):04x}" for letter in SECRETS[0]))
        check(header + raw.encode() + b"\n" + raw.encode())


def each_place(agent: AgentLines) -> Iterator[tuple[Any, str]]:
    """Every kind of line that was recorded, once for each text in it, with a word in that place, and the word."""
    word, seen = "the-place", set()
    for line in b"\n".join(recordings(agent)).splitlines():
        try:
            value = json.loads(line)
        except ValueError:  # one that is cut off
            continue
        kinds = tuple(value.get(name) for name in ("type", "subtype")) + tuple(_inner_types(value))
        for holder, key, path in _texts(value, ""):
            if (kinds, path) not in seen:
                seen.add((kinds, path))
                kept, holder[key] = holder[key], word
                yield value, word
                holder[key] = kept


def _inner_types(value: dict[str, Any]) -> Iterator[object]:
    """Return the types of the item, the event or the content of a line."""
    content = value.get("message", {}).get("content") if isinstance(value.get("message"), dict) else None
    for inner in (
        value.get("item"),
        value.get("event"),
        value.get("assistantMessageEvent"),
        *(content if isinstance(content, list) else ()),
    ):
        yield inner.get("type") if isinstance(inner, dict) else None


def _texts(holder: Any, above: str) -> Iterator[tuple[Any, Any, str]]:
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        path = f"{above}.{key}" if isinstance(holder, dict) else f"{above}[]"
        if isinstance(holder[key], dict | list):
            yield from _texts(holder[key], path)
        elif isinstance(holder[key], str) and path not in (".type", ".item.type"):
            yield holder, key, path


@pytest.mark.rule("L4", "X1")
def test_no_input_that_broke_a_rule_once_breaks_one_again() -> None:
    for path in sorted(CRASHES.glob("*")):
        check(path.read_bytes())
