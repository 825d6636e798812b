"""Each record and message has an example, and each example fits the schema."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from codex_adapter.agents import agent_of, kinds
from codex_adapter.hints import ADVICE
from docs.generate.examples import Examples
from docs.generate.hints import hints_page
from docs.generate.markdown import LONGEST_STRING, shortened
from docs.generate.wire import (
    UNIONS,
    examples_of_events,
    examples_of_operations,
    examples_of_runs,
    wire_pages,
    wire_parts,
)

SCHEMAS = {"runs": examples_of_runs, "operations": examples_of_operations, "events": examples_of_events}


@pytest.mark.rule("DC5")
@pytest.mark.parametrize("name", SCHEMAS)
def test_each_definition_has_an_example(name: str) -> None:
    assert {*SCHEMAS[name]().missing()} <= {*UNIONS}


@pytest.mark.rule("DC5", "C5", "O6")
def test_each_example_fits_its_definition_as_it_is_shown() -> None:
    schemas = {"operations": examples_of_operations(), "events": examples_of_events()}
    for part in wire_parts():
        schema = schemas.get(part.page, examples_of_runs()).schema
        inner = {key: schema[key] for key in ("$defs", "definitions", "$schema") if key in schema}
        validator = jsonschema.validators.validator_for(schema)({**part.definition, **inner})
        assert part.examples, part.name
        for example in part.examples:
            validator.validate(shortened(example))


@pytest.mark.rule("DC5", "C5")
def test_each_member_has_a_description() -> None:
    """A member with only one possible value needs none."""
    undescribed = [
        f"{part.name}.{name}"
        for part in wire_parts()
        for name, member in part.definition.get("properties", {}).items()
        if "description" not in member and "const" not in member and len(member.get("enum", ())) != 1
    ]
    assert undescribed == []


@pytest.mark.rule("DC5")
def test_each_definition_has_a_section() -> None:
    pages = wire_pages()
    parts = wire_parts()
    assert [part.name for part in parts if f"\n## {part.name}\n" not in pages[f"{part.page}.md"]] == []
    shown = {part.name for part in parts if part.page not in ("operations", "events")}
    assert shown == examples_of_runs().definitions.keys() - {*UNIONS}


@pytest.mark.rule("DC5")
def test_the_event_record_has_an_example_of_each_kind() -> None:
    [part] = [part for part in wire_parts() if part.name == "EventRecord"]
    kinds = part.definition["properties"]["kind"]["enum"]
    assert {example["kind"] for example in part.examples} == set(kinds)


@pytest.mark.rule("DC5", "J3")
def test_the_examples_of_a_call_and_of_its_answer_belong_together() -> None:
    shown = {part.name: part.examples[0] for part in wire_parts() if part.name.endswith(("Call", "Answer"))}
    calls = {name.removesuffix("Answer"): answer for name, answer in shown.items() if name.endswith("Answer")}
    assert [name for name, answer in calls.items() if shown[f"{name}Call"]["id"] != answer["id"]] == []


@pytest.mark.rule("DC5")
def test_an_example_that_does_not_fit_is_an_error() -> None:
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"Part": {"type": "string"}, "Other": {"type": "null"}, "Whole": {"properties": {}}},
    }
    schema["$defs"]["Whole"]["properties"]["parts"] = {"type": "array", "items": {"$ref": "#/$defs/Part"}}
    examples = Examples(schema)
    examples.add("Whole", {"parts": ["a"]})
    assert (examples.of("Part"), examples.missing()) == (["a"], ["Other"])
    assert examples.first("Part") == ["a"]
    with pytest.raises(jsonschema.ValidationError):
        examples.add("Whole", {"parts": [1]})


@pytest.mark.rule("DC5")
def test_long_texts_are_cut_and_long_lists_shortened() -> None:
    assert shortened({"text": "x" * 1000, "list": list(range(9))}) == {
        "text": "x" * LONGEST_STRING + "…",
        "list": [0, 1, 2, 3],
    }


@pytest.mark.rule("DC6")
def test_each_hint_is_on_the_page_with_its_advice() -> None:
    page = hints_page().replace("\\", "")
    for sentences in (ADVICE, *(agent_of(kind).advice for kind in kinds())):
        assert [hint for hint, advice in sentences.items() if f"| `{hint}` | {advice} |" not in page] == []
