"""Test prompts, answers, decisions and the output schema of an agent, without an agent."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter import OversizeLine
from codex_adapter.protocols.operations.agent_answers import AgentOperations, parse_agent_message
from codex_adapter.protocols.operations.agent_decisions import MAX_DECISION_BYTES, DecisionLines
from codex_adapter.protocols.operations.agent_prompts import MOST_CHARACTERS, events_prompt, first_prompt
from codex_adapter.protocols.operations.encoding import encode_events_message
from codex_adapter.protocols.operations.executor import PendingApproval
from codex_adapter.protocols.operations.messages import Status, read_events_message
from codex_adapter.protocols.operations.operations import OPERATIONS, MessageOperation
from codex_adapter.protocols.operations.strict_schema import agent_schema
from codex_adapter.protocols.operations.validation import Invalid

from .agent_stage import message_of
from .workbench import Message, shell

pytestmark = pytest.mark.rule("O15")

WORDS = {"type": "message", "content": "."}
WAITING = PendingApproval("run_1", "op_1", MessageOperation(content="."), "it waits", "a rule")
TIME = "2025-01-15T10:30:00.000Z"


def line(*events: Message, status: Status = "completed") -> bytes:
    """An answer of the runtime."""
    encoded = [json.dumps({"timestamp": TIME, **event}, ensure_ascii=False).encode() for event in events]
    return encode_events_message("run_1", status, encoded)


def ran(stdout: str, stderr: str = "", **members: Any) -> Message:
    """What came of a command."""
    outputs = {"exitCode": 0, "stdout": stdout, "stderr": stderr, "durationMs": 1}
    return {"type": "shell", "command": "true", "success": True, **outputs, **members}


def test_the_first_prompt_has_the_whole_protocol_and_then_the_task_as_it_was_given() -> None:
    prompt = first_prompt("  Höher,\nweiter. ", {".codex", ".git"})
    protocol, _, task = prompt.partition("The task:\n")
    assert task == "  Höher,\nweiter. "
    assert "\nthe configuration and hooks in .codex, .git.\n" in protocol
    for kind, operation in OPERATIONS.items():
        entry = protocol[protocol.index(f"- {kind}: ") :].partition("\n- ")[0]
        for name in set(operation.__struct_encode_fields__) - {"id", "env"}:
            assert name in entry, (kind, name)
    assert len(prompt) < 6_000


def test_a_prompt_of_events_is_the_message_of_the_runtime() -> None:
    answer = line(ran("höher\n"), {"type": "message", "success": True})
    assert events_prompt([answer]) == answer.decode().rstrip("\n")


def test_answers_to_one_message_become_one_without_what_waited() -> None:
    waits = {"operationId": "a", "operationType": "shell", "reason": ".", "details": {}}
    asked = line(
        {"type": "message", "success": True}, {"type": "approvalRequired", **waits}, status="awaiting_approval"
    )
    message = json.loads(events_prompt([asked, line(ran("1"), status="error")]))
    assert [event["type"] for event in message["events"]] == ["message", "shell"]
    assert (message["runId"], message["status"]) == ("run_1", "error")


def test_what_is_too_long_for_a_prompt_is_shortened_and_says_so() -> None:
    file = {"type": "readFile", "path": "f", "success": True, "encoding": "utf-8", "size": 900_000}
    text = "a" * 450_000 + "ü" * 450_000
    long = line(file | {"content": text}, ran(text, "e", leftOut={"stdout": 7, "stderr": 1}), ran("short"))
    prompt = events_prompt([long])
    assert len(prompt) <= MOST_CHARACTERS
    read, command, short = json.loads(prompt)["events"]
    assert (read["success"], read["size"]) == (False, 900_000)
    assert "sed -n" in read["error"]
    assert not read.keys() & {"content", "encoding"}
    shown = len(command["stdout"].replace("\n", "").rpartition("]")[2])
    assert command["stdout"].startswith("aaa")
    assert command["stdout"].endswith("\n" + "ü" * shown)
    left_out = len(text.encode()) - 3 * shown
    assert f"[{left_out} more bytes left out]" in command["stdout"]
    assert (command["leftOut"], command["stderr"]) == ({"stdout": left_out + 7, "stderr": 1}, "e")
    assert (short["stdout"], "leftOut" in short) == ("short", False)
    read_events_message(prompt.encode())


def test_of_too_many_events_the_first_are_shown() -> None:
    prompt = events_prompt([line(*[{"type": "message", "success": True}] * 10_000)])
    assert len(prompt) < MOST_CHARACTERS + 1_000
    *shown, last = json.loads(prompt)["events"]
    assert last["message"] == f"{10_000 - len(shown)} more events are not shown. Send fewer operations at once"
    read_events_message(prompt.encode())


@given(
    st.lists(st.builds(ran, st.text(max_size=300), st.text(max_size=300)), min_size=1, max_size=8),
    st.integers(200, 3_000),
)
def test_however_short_a_prompt_has_to_be_it_is_an_events_message(events: list[Message], most: int) -> None:
    prompt = events_prompt([line(*events)], most=most)
    message = read_events_message(prompt.encode())
    assert 0 < len(message.events) <= len(events)
    assert len(prompt) <= most + 1_000


@pytest.mark.parametrize(
    ("text", "last"),
    [
        (message_of(), True),
        (message_of(WORDS, WORDS | {"id": None}), True),
        (message_of(WORDS, shell("true")), False),
        (message_of({"type": "message", "content": 3}), False),
        (message_of({"type": "zip"}), False),
    ],
)
def test_an_answer_is_the_last_when_it_has_nothing_but_words(text: str, last: bool) -> None:
    answer = parse_agent_message(text)
    assert isinstance(answer, AgentOperations)
    assert answer.last is last


def test_an_answer_is_one_compact_line_without_nulls_whatever_the_agents_layout() -> None:
    operation = {"type": "shell", "id": None, "command": "a\n", "cwd": "", "timeout": None}
    text = json.dumps({"protocolVersion": "1.0", "operations": [operation, {"type": "zip", "x": None}]}, indent=3)
    answer = parse_agent_message(text)
    assert isinstance(answer, AgentOperations)
    assert answer.message == (
        b'{"protocolVersion":"1.0","operations":[{"type":"shell","command":"a\\n","cwd":""},{"type":"zip","x":null}]}'
    )


def test_an_answer_with_half_of_a_surrogate_pair_is_one_line_too() -> None:
    half = '{"type":\n"message",\n"content":"\\ud800"}'
    answer = parse_agent_message(
        f'{{"protocolVersion":"1.0",\n"operations":[{half},\n{{"type":\n"message","content":"."}}]}}'
    )
    assert isinstance(answer, AgentOperations)
    assert b"\n" not in answer.message
    assert len(json.loads(answer.message)["operations"]) == 2
    assert not answer.last


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_any_other_text_is_wrong_and_nothing_of_it_is_repeated(text: str) -> None:
    answer = parse_agent_message(text)
    assert isinstance(answer, Invalid)
    assert len(text) < 8 or text not in answer.error


@pytest.mark.rule("O16")
@given(st.lists(st.binary(min_size=1, max_size=12).map(lambda line: line.replace(b"\n", b".")), max_size=6), st.data())
def test_decisions_come_line_by_line_wherever_the_reads_are_cut(given_lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in given_lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    places = [0, *cuts, len(stream)]
    reads = [part for start, end in pairwise(places) if (part := stream[start:end])]

    async def receive_some() -> bytes:
        await trio.lowlevel.checkpoint()
        return reads.pop(0) if reads else b""

    async def all_lines() -> list[bytes]:
        lines = DecisionLines(receive_some)
        found = []
        while (line := await lines.next(WAITING)) is not None:
            assert isinstance(line, bytes | bytearray)
            found.append(bytes(line).removesuffix(b"\n"))
        return found

    assert trio.run(all_lines) == [line for line in given_lines if line.strip(b" \t\r\x0b\x0c")]


@pytest.mark.rule("O16")
async def test_a_line_that_is_too_long_is_nobodys_decision() -> None:
    reads = [b"x" * (MAX_DECISION_BYTES + 1) + b"\n"]

    async def receive_some() -> bytes:
        await trio.lowlevel.checkpoint()
        return reads.pop() if reads else b""

    lines = DecisionLines(receive_some)
    assert isinstance(await lines.next(WAITING), OversizeLine)
    assert await lines.next(WAITING) is None


TYPES = {"string", "number", "boolean", "integer", "object", "array", "null"}
ALLOWED = {"type", "description", "enum", "const", "properties", "required", "additionalProperties", "items", "anyOf"}


@pytest.mark.rule("O6", "O15")
def test_the_output_schema_keeps_to_what_a_model_can_be_held_to() -> None:
    schema = agent_schema()
    assert schema["type"] == "object", "the root is an object, and no anyOf"
    found = Survey()
    found.look(schema, 1)
    assert found.wrong == []
    assert found.properties <= 5_000
    assert found.depth <= 10
    assert found.enums <= 1_000
    assert found.characters <= 120_000
    assert len(msgspec.json.encode(schema)) < 8_000


class Survey:
    """Looks through a schema by the documented restrictions of strict output schemas, and counts what they limit."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.properties = self.depth = self.enums = self.characters = 0

    def look(self, schema: Any, depth: int, place: str = "") -> None:
        """One schema, and those in it."""
        self.depth = max(self.depth, depth)
        self.wrong += [f"{place}: keyword {keyword}" for keyword in schema.keys() - ALLOWED]
        if "anyOf" in schema:
            self.wrong += [f"{place}: more than anyOf"] * (schema.keys() != {"anyOf"})
            for number, choice in enumerate(schema["anyOf"]):
                self.look(choice, depth, f"{place}|{number}")
            return
        types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        self.wrong += [f"{place}: type {name}" for name in types if name not in TYPES]
        values = [*schema.get("enum", []), *([schema["const"]] if "const" in schema else [])]
        self.enums += len(schema.get("enum", []))
        self.characters += sum(len(value) for value in values if isinstance(value, str))
        self.wrong += [f"{place}: value"] * any(value is None and "null" not in types for value in values)
        if "array" in types:
            self.look(schema["items"], depth + 1, f"{place}[]")
        if "object" in types:
            self._look_at_object(schema, depth, place)

    def _look_at_object(self, schema: Any, depth: int, place: str) -> None:
        names = list(schema["properties"])
        self.wrong += [f"{place}: not all required"] * (sorted(schema["required"]) != sorted(names))
        self.wrong += [f"{place}: open"] * (schema["additionalProperties"] is not False)
        self.properties += len(names)
        self.characters += sum(map(len, names))
        for name in names:
            self.look(schema["properties"][name], depth + 1, f"{place}.{name}")
