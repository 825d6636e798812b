"""Test that the examples of the protocol are parsed correctly.

They are in `seed_examples.json`. If an example was not a complete message, `adapted` describes the change to it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from codex_adapter.protocols.operations.encoding import encode_events_message
from codex_adapter.protocols.operations.messages import (
    Approval,
    OperationsMessage,
    UserMessage,
    read_events_message,
    read_message,
)
from codex_adapter.protocols.operations.schema import events_schema, operations_schema
from codex_adapter.protocols.operations.validation import Invalid, Valid, parse_operation, validate_operation

from ...rows import rows

EXAMPLES = json.loads((Path(__file__).parent / "seed_examples.json").read_text())
EVENTS = jsonschema.Draft7Validator(events_schema())
OPERATIONS = jsonschema.Draft7Validator(operations_schema())


def documents(kind: str) -> list[Any]:
    return [pytest.param(example["document"], id=example["name"]) for example in EXAMPLES if example["kind"] == kind]


@pytest.mark.rule("O2")
@rows("document", documents("operation"))
def test_an_operation_is_read_with_its_members(document: Any) -> None:
    operation = parse_operation(json.dumps(document))
    assert validate_operation(document) == Valid(operation)
    assert operation.type == document["type"]
    assert operation.id == document["id"]


@pytest.mark.rule("O1", "O6")
@rows("document", documents("operations message"))
def test_an_operations_message_is_read_and_all_its_operations_are_right(document: Any) -> None:
    OPERATIONS.validate(document)
    message = read_message(json.dumps(document).encode())
    assert isinstance(message, OperationsMessage)
    operations = [parse_operation(operation) for operation in message.operations]
    assert [operation.type for operation in operations] == [given["type"] for given in document["operations"]]


@pytest.mark.rule("O4", "O6")
@rows("event", documents("event"))
def test_an_event_comes_out_as_it_went_in(event: Any) -> None:
    assert_same_events({"protocolVersion": "1.0", "runId": "run_1", "status": "completed", "events": [event]})


@pytest.mark.rule("O4", "O6")
@rows("document", documents("events message"))
def test_an_events_message_comes_out_as_it_went_in_but_for_null(document: Any) -> None:
    assert_same_events(document)


@pytest.mark.rule("O5")
@pytest.mark.parametrize("document", documents("user message"))
def test_the_word_of_a_user_is_a_decision(document: Any) -> None:
    message = read_message(json.dumps(document).encode())
    assert isinstance(message, UserMessage)
    assert message.decision == "approved"


@pytest.mark.rule("O5")
@pytest.mark.parametrize("document", documents("approval"))
def test_an_approval_is_read(document: Any) -> None:
    message = read_message(json.dumps(document).encode())
    assert isinstance(message, Approval)
    assert message.operation_id == document["approval"]["operationId"]
    assert message.decision == "approved"


@pytest.mark.rule("O2")
def test_none_of_the_operations_is_one_of_another_type() -> None:
    for parameter in documents("operation"):
        (document,) = parameter.values
        for name in ("message", "createFile", "readFile", "editFile", "deleteFile", "shell"):
            if name != document["type"]:
                result = validate_operation({**document, "type": name})
                allowed = OPERATIONS.is_valid({"protocolVersion": "1.0", "operations": [{**document, "type": name}]})
                assert isinstance(result, Valid if allowed else Invalid)


def assert_same_events(document: Any) -> None:
    EVENTS.validate(document)
    message = read_events_message(json.dumps(document).encode())
    line = encode_events_message(message.run_id, message.status, message.events)
    for event in document["events"]:
        if event.get("operationId", "") is None:
            del event["operationId"]
    assert json.loads(line) == document
    assert read_events_message(line) == message
