"""Test the schemas against the schema of the protocol, the reader, and the limits of models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_adapter.protocols.operations.messages import (
    InvalidMessageError,
    read_events_message,
    validate_operations_message,
)
from codex_adapter.protocols.operations.schema import events_schema, operations_schema
from codex_adapter.protocols.operations.strict_schema import agent_schema, without_nulls
from codex_adapter.protocols.operations.validation import Valid

from ...rows import rows
from .documents import SEED, follows_the_rules, messages

pytestmark = pytest.mark.rule("O6")
OURS = jsonschema.Draft7Validator(operations_schema())
EVENTS = jsonschema.Draft7Validator(events_schema())
STRICT = jsonschema.Draft7Validator(agent_schema())
EXAMPLES = json.loads((Path(__file__).parent / "seed_examples.json").read_text())
OTHERS: list[Any] = ["x", 1, -1, 1.5, True, None, {}, {"stdout": None}, []]
STRICT_KEYWORDS = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "enum",
    "const",
    "description",
}


def test_the_schemas_are_schemas_and_are_json() -> None:
    for schema in (operations_schema(), events_schema(), agent_schema()):
        jsonschema.Draft7Validator.check_schema(schema)
        assert json.loads(json.dumps(schema)) == schema


def test_the_definitions_have_the_names_members_and_limits_of_the_protocol() -> None:
    ours: Any = operations_schema()
    seed = cast(Any, SEED.schema)
    assert ours["definitions"].keys() - {"FileEdit"} == seed["definitions"].keys()
    for name, definition in seed["definitions"].items():
        mine = ours["definitions"][name]
        assert mine.get("required") == definition.get("required")
        for member, rules in definition.get("properties", {}).items():
            limits = {key: value for key, value in rules.items() if key not in {"items", "enum"}}
            assert limits.items() <= mine["properties"][member].items()


@pytest.mark.rule("O1", "O2", "O3")
@settings(max_examples=300)
@given(messages())
def test_our_schema_that_of_the_protocol_and_the_reader_agree(message: Any) -> None:
    assert_agreement(message)


@pytest.mark.nightly
@pytest.mark.rule("O1", "O2", "O3")
@settings(max_examples=100_000)
@given(messages())
def test_they_agree_on_very_many_documents(message: Any) -> None:
    assert_agreement(message)


@pytest.mark.rule("O4")
def test_the_reader_of_events_and_their_schema_agree_on_every_member() -> None:
    for message in changed_events():
        try:
            read_events_message(json.dumps(message).encode())
        except InvalidMessageError:
            assert not EVENTS.is_valid(message), message
        else:
            assert EVENTS.is_valid(message), message


def test_the_schema_for_models_has_only_what_models_are_held_to() -> None:
    for schema in subschemas(agent_schema()):
        assert schema.keys() <= STRICT_KEYWORDS
        if "properties" in schema:
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
    assert agent_schema()["type"] == "object"
    operations = agent_schema()["properties"]["operations"]["items"]["anyOf"]
    assert [next(iter(operation["properties"])) for operation in operations] == ["type"] * 6
    assert all("env" not in operation["properties"] for operation in operations)


@given(st.data())
def test_what_a_model_is_made_to_write_is_a_message_without_its_nulls(data: st.DataObject) -> None:
    message: dict[str, Any] = {
        "protocolVersion": "1.0",
        "operations": data.draw(
            st.lists(st.sampled_from(agent_schema()["properties"]["operations"]["items"]["anyOf"]).flatmap(written))
        ),
    }
    STRICT.validate(message)
    read = json.loads(without_nulls(json.dumps(message).encode()))
    assert SEED.is_valid(read)
    for given_operation, operation in zip(message["operations"], read["operations"], strict=True):
        assert operation == {name: value for name, value in given_operation.items() if value is not None}
    result = validate_operations_message(without_nulls(json.dumps(message).encode()))
    assert isinstance(result, Valid)
    assert all(operation.success for operation in result.data)


@rows(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b'{"operations":null}',
        b'{"operations":5}',
        b'{"protocolVersion":"1.0"}',
        b'{"operations":[null,5,{"type":null},{"id":null},{"type":"zip","id":null}]}',
        b'{"operations":[{"type":"shell","command":null}]}',
        b"\xff",
        '{"operations":[{"type":"message","id":null,"content":"%s\\ud800"}]}'.replace("%s", "é" * 200_000).encode(),
    ],
    ids=lambda text: text[:40].decode(errors="replace"),
)
def test_only_members_that_may_be_absent_are_left_out(text: bytes) -> None:
    assert without_nulls(text) == text


def assert_agreement(message: Any) -> None:
    text = json.dumps(message)
    fits = SEED.is_valid(message)
    assert OURS.is_valid(message) == fits
    for given_message in (text, text.encode(), message):
        result = validate_operations_message(given_message)
        right = isinstance(result, Valid) and all(operation.success for operation in result.data)
        assert right == (fits and all(map(follows_the_rules, message["operations"])))


def changed_events() -> Iterator[Any]:
    """Every event of the examples, and that with each member left out, null, or of another type."""
    events = [example["document"] for example in EXAMPLES if example["kind"] == "event"]
    full = {"leftOut": {"stdout": 1}, "sandbox": "none", "timedOut": False, "error": "x"}
    events.append({**next(event for event in events if event["type"] == "shell"), **full})
    for event in events:
        for name in event:
            yield from (envelope({**event, name: value}) for value in OTHERS)
            if (event["type"], name) != ("message", "success"):  # there is but one that it can be
                yield envelope({key: value for key, value in event.items() if key != name})
    whole = envelope(events[0])
    for name in whole:
        yield {key: value for key, value in whole.items() if key != name}
        yield {**whole, name: None}


def envelope(event: Any) -> dict[str, Any]:
    return {"protocolVersion": "1.0", "runId": "run_1", "status": "completed", "events": [event]}


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    for child in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from subschemas(child)


def written(operation: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Operations that a model writes by one of the schemas, within the limits that are only told to it."""
    values: dict[str, st.SearchStrategy[Any]] = {}
    for name, schema in operation["properties"].items():
        if "const" in schema:
            values[name] = st.just(schema["const"])
            continue
        kinds: dict[str, st.SearchStrategy[Any]] = {
            "string": st.sampled_from(["QUJD", "QQ==", ""]),
            "boolean": st.booleans(),
            "integer": st.integers(1_000, 3_600_000),
            "array": st.just([{"oldContent": "a", "newContent": "b"}]),
            "null": st.none(),
        }
        allowed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        values[name] = (
            st.sampled_from(schema["enum"]) if "enum" in schema else st.one_of([kinds[kind] for kind in allowed])
        )
    return st.fixed_dictionaries(values)
