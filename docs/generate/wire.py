"""Write the pages of the wire from the JSON Schemas: each record and message with its members and a real example."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from codex_adapter.cli.schema.command import json_schema
from codex_adapter.protocols.operations.events import UserMessageEvent
from codex_adapter.protocols.operations.schema import events_schema, operations_schema
from docs.generate.examples import Examples
from docs.generate.markdown import cell, json_block, shortened, table
from docs.generate.recordings import daemon_lines, operation_lines, records

__all__ = [
    "PAGES",
    "Part",
    "examples_of_events",
    "examples_of_operations",
    "examples_of_runs",
    "wire_pages",
    "wire_parts",
]

UNIONS: Final = ("FromSupervisor", "ToSupervisor")
RECORDS: Final = ("EventRecord", "CompletedRecord", "FailedRecord", "RunRecord", "RunRequest")
_MESSAGES: Final = ("Call", "Answer", "Notification")
_KINDS: Final = ("status", "text_output", "tool_call", "tool_result", "error", "unknown")
PAGES: Final = ("records", "messages", "turns", "operations", "events")

_INTRODUCTIONS: Final[Mapping[str, str]] = {
    "records": """\
# Records

`run`, `replay` and the journal write these records. A record is one JSON object on one line; here they are indented.
The command `codex-adapter schema` prints the JSON Schema from which this page is generated. Each example is a real
record. Long texts in it are cut, and long lists shortened.

The last record is a `CompletedRecord` or a `FailedRecord`. Its `outcome` is `completed` if the agent ended by itself,
and `failed` if the run was stopped or could not start: then it is a `FailedRecord` with `error`. `outcome` does not say
whether the run worked. Only `ok` does: a run with a refused login is `completed`, and its `ok` is false.

""",
    "messages": """\
# Messages of the daemon

A supervisor and `codex-adapter serve` exchange these messages: JSON-RPC 2.0, one message on a line. A request without
an `id` has no answer. Each example is a real message.

""",
    "turns": """\
# Messages of turns

`codex-adapter serve` has these methods for turns of conversations, too. `codex-adapter turn` writes the events alone.

""",
    "operations": """\
# Operations

`codex-adapter operations` reads these messages, one on a line. `codex-adapter schema operations` prints their schema.

""",
    "events": """\
# Events of operations

`codex-adapter operations` answers each message by one of these. `codex-adapter schema events` prints their schema.

""",
}
_INDEX: Final = """\
# Wire formats

Every line on standard output and in a journal is one JSON object. A program that reads lines must accept members that
it does not know: a later version may add some.

| page | content |
|---|---|
| [Records](records.md) | the lines of `run` and `replay`, of a journal, and the request of a run |
| [Messages of the daemon](messages.md) | the methods of `codex-adapter serve` |
| [Messages of turns](turns.md) | the methods for turns of conversations, and the events of a turn |
| [Operations](operations.md) | what `codex-adapter operations` reads |
| [Events of operations](events.md) | what `codex-adapter operations` writes |
| [Hints](../hints.md) | the known causes of a failure, with advice |
"""


class Part(NamedTuple):
    """One definition of a schema: its page, its name, and what the page says about it."""

    page: str
    name: str
    definition: Mapping[str, Any]
    examples: Sequence[Any]


@cache
def examples_of_runs() -> Examples:
    """Return the examples of the schema of runs and of the daemon's messages."""
    examples = Examples(json.loads(json.dumps(json_schema())))
    for record in records():
        examples.add(None, record)
    for name, value in daemon_lines():
        examples.add(name, value)
        if name != "RunRecord":
            examples.check("FromSupervisor" if name.endswith("Call") else "ToSupervisor", value)
    return examples


@cache
def examples_of_operations() -> Examples:
    """Return the examples of the schema of operations."""
    examples = Examples(operations_schema())
    for message in operation_lines()[0]:
        if "operations" in message:
            examples.add(None, message)
    return examples


@cache
def examples_of_events() -> Examples:
    """Return the examples of the schema of the events of operations."""
    examples = Examples(events_schema())
    for message in operation_lines()[1]:
        examples.add(None, message)
    # An event of the protocol for the logs of callers; no command writes it.
    event = UserMessageEvent(timestamp="2026-01-15T10:30:00.000Z", content="Now run the tests.")
    examples.add("UserMessageEvent", msgspec.json.decode(msgspec.json.encode(event)))
    return examples


def wire_parts() -> list[Part]:
    """Return every definition of the three schemas, in the order of the pages."""
    return [*_runs(), *_whole("operations", examples_of_operations()), *_whole("events", examples_of_events())]


def wire_pages() -> Mapping[str, str]:
    """Return the pages by their place on the site."""
    parts = wire_parts()
    places = {(part.page in PAGES[:3], part.name): part for part in parts}
    pages = {"index.md": _INDEX}
    for page in PAGES:
        own = [part for part in parts if part.page == page]
        links = {name: part for (of_runs, name), part in places.items() if of_runs == (page in PAGES[:3])}
        pages[f"{page}.md"] = _INTRODUCTIONS[page] + "".join(text for part in own for text in _section(part, links))
    return pages


def _runs() -> Iterator[Part]:
    examples = examples_of_runs()
    messages = {name for name in examples.definitions if name.endswith(_MESSAGES)}
    of_turns = _reached([name for name in messages if name.startswith("Turns")], examples.definitions)
    of_records = _reached(RECORDS, examples.definitions)
    rest = examples.definitions.keys() - of_turns - of_records - {*UNIONS}
    others = _reached([*rest], examples.definitions)
    for page, names in (
        ("records", of_records),
        ("messages", others - of_records),
        ("turns", of_turns - others - of_records),
    ):
        for name in sorted(names, key=lambda name: _order(name, list(examples.definitions))):
            yield Part(page, name, examples.definitions[name], _shown(name, examples))


def _order(name: str, names: Sequence[str]) -> tuple[int, Any]:
    """Return the key by which definitions are sorted: records, then each method with its answer, then parts."""
    if name in RECORDS:
        return 0, RECORDS.index(name)
    for number, end in enumerate(_MESSAGES):
        if name.endswith(end) and name != "ToolCall":
            stem = name.removesuffix(end)
            return (1, (stem != "Initialize", stem == "Exit", stem, number)) if end != "Notification" else (2, (stem,))
    return 3, (name != "Refusal", name)


def _whole(page: str, examples: Examples) -> Iterator[Part]:
    schema = examples.schema
    title = str(schema["title"])
    message = {key: value for key, value in schema.items() if key in ("description", "type", "properties", "required")}
    yield Part(page, title, message, examples.whole()[:1])
    for name, definition in examples.definitions.items():
        yield Part(page, name, definition, _shown(name, examples))


def _shown(name: str, examples: Examples) -> Sequence[Any]:
    """Return the examples to show: of events one for each kind and facet, else one."""
    if name.endswith(_MESSAGES) and name != "ToolCall":
        # The first call and the first answer belong together.
        return examples.first(name)
    found = examples.of(name)
    if name != "EventRecord":
        return found[:1]
    kinds: dict[Any, Any] = {}
    for value in found:
        kinds.setdefault((value["kind"], (value.get("data") or {}).get("schema")), value)
    return [kinds[key] for key in sorted(kinds, key=lambda key: (_KINDS.index(key[0]), str(key[1])))]


def _reached(names: Sequence[str], definitions: Mapping[str, Any]) -> set[str]:
    """Return these definitions and those that they refer to, directly or not."""
    reached, rest = set[str](), [*names]
    while rest:
        if (name := rest.pop()) not in reached:
            reached.add(name)
            rest += _references(definitions[name])
    return reached


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].rpartition("/")[2]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _section(part: Part, links: Mapping[str, Part]) -> Iterator[str]:
    yield f"## {part.name}\n\n"
    description = part.definition.get("description", "")
    if description and description != part.name:
        yield f"{cell(description)}\n\n"
    if "properties" in part.definition:
        required = part.definition.get("required", [])
        rows = [
            (f"`{name}`", _type(field, part, links), "yes" if name in required else "no", _meaning(field))
            for name, field in part.definition["properties"].items()
        ]
        if rows:
            yield table(("member", "type", "required", "meaning"), rows)
    elif alternatives := part.definition.get("anyOf", part.definition.get("oneOf")):
        yield "One of:\n\n" + "".join(f"- {_type(alternative, part, links)}\n" for alternative in alternatives) + "\n"
    for number, example in enumerate(part.examples):
        if number == 0:
            yield "Examples:\n\n" if len(part.examples) > 1 else "Example:\n\n"
        yield json_block(shortened(example))


def _type(node: Mapping[str, Any], part: Part, links: Mapping[str, Part]) -> str:
    """Return the type of a member as Markdown, with links to the definitions."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        target = links[name]
        page = "" if target.page == part.page else f"{target.page}.md"
        return f"[{name}]({page}#{name.lower()})"
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    if "enum" in node:
        if any(str(value) == "answer_incomplete" for value in node["enum"]):
            return "a [hint](../hints.md)"
        return " or ".join(f"`{json.dumps(value)}`" for value in node["enum"])
    if alternatives := node.get("anyOf", node.get("oneOf")):
        return " or ".join(_type(alternative, part, links) for alternative in alternatives)
    match node.get("type"):
        case "array":
            return f"array of {_type(node['items'], part, links)}"
        case "object" if isinstance(further := node.get("additionalProperties"), dict):
            return f"object of {_type(further, part, links)}"
        case list(kinds):
            return " or ".join(kinds)
        case None:
            return "any"
        case kind:
            return str(kind)


def _meaning(field: Mapping[str, Any]) -> str:
    words = [cell(field["description"])] if "description" in field else []
    if "default" in field:
        words.append(f"The default is `{json.dumps(field['default'])}`.")
    return " ".join(words)
