"""Execute `codex-adapter schema`: derive the JSON Schema of records, requests and messages from their types (C5)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from codex_adapter import Completion, Event, RunRequest, events
from codex_adapter.agents import agent_of, kinds
from codex_adapter.cli.arguments import Command, Parser, one_of
from codex_adapter.cli.output import Output
from codex_adapter.cli.schema.daemon_messages import message_definitions
from codex_adapter.cli.signals import StopSignals
from codex_adapter.events import Facet
from codex_adapter.hints import Hint
from codex_adapter.member_texts import describe_members, without_ids
from codex_adapter.protocols.operations.schema import events_schema, operations_schema
from codex_adapter.records import ErrorBody, RunRecord

__all__ = ["COMMAND", "json_schema"]

_DESCRIPTION = """\
Print a JSON Schema.

  schema              The records that `run` and `replay` write (2020-12): each line of output matches it. Its `$defs`
                      also define the request that `run --request` reads, and the messages of `serve`
                      (`FromSupervisor` and `ToSupervisor`).
  schema operations   The messages that `operations` reads (draft-07).
  schema events       The messages that `operations` writes (draft-07).
"""
_EXAMPLES = """\
  codex-adapter schema > codex-adapter.schema.json
  codex-adapter schema | jq '."$defs".RunRequest'
  codex-adapter schema operations > operations.schema.json
"""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"
_ERROR_KINDS = ("invalid_request", "unsupported_capability", "unknown_backend", "invalid_agent_kind", "backend")

_LABELS: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 256},
    "propertyNames": {"pattern": r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,63}$(?!\n)"},
    "maxProperties": 16,
    "default": {},
}
"""Q6."""


class _EventRecord(Event, frozen=True, omit_defaults=True, tag_field="type", tag="event"):
    """One event of a run."""

    data: Any = None
    """What a program needs of the event, by its `schema`."""


class _Completed(Completion, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="completion"):
    """The last record of a run that ended with a completion."""

    seq: int
    """The number of the record: one more than that of the last event."""
    outcome: Literal["completed"]
    ok: bool
    """Whether the run succeeded. It is the only member that a program must check."""


class _Failed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="completion"):
    """The last record of a run without a completion. `hint` and `advice` are those of `error`."""

    seq: int
    """The number of the record: one more than that of the last event."""
    outcome: Literal["failed"]
    ok: bool
    """False: the run did not succeed."""
    error: ErrorBody
    """Why the run failed."""
    session_id: str | None = None
    """The id of the session, if the agent reported it."""
    run_usage: dict[str, int] | None = None
    """Counts of tokens that the run has used at least, if the agent reported them."""
    cost_usd: float | None = None
    """The cost of the run in US dollars that the agent reported before its end."""
    hint: Hint | None = None
    """The cause, if it is known."""
    advice: str | None = None
    """The next step for the hint, for a person."""


class _Run(RunRecord, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="run"):
    """The request of a run: the first line of its journal."""

    # As in the request.
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class _Request(RunRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a run."""

    # The defaults of the type itself are read-only mappings, which msgspec cannot encode.
    env: dict[str, str] = msgspec.field(default_factory=dict)
    extensions: dict[str, Any] = msgspec.field(default_factory=dict)
    labels: dict[str, str] = msgspec.field(default_factory=dict)


_RECORDS: Mapping[str, type[msgspec.Struct]] = {
    "EventRecord": _EventRecord,
    "CompletedRecord": _Completed,
    "FailedRecord": _Failed,
}

_OF_OPERATIONS: Mapping[str, Callable[[], dict[str, Any]]] = {"operations": operations_schema, "events": events_schema}


def json_schema() -> dict[str, Any]:
    """Return the schema of a line of output, with the schema of the request in `$defs` (C5)."""
    named: dict[str, type[msgspec.Struct]] = {**_RECORDS, "RunRecord": _Run, "RunRequest": _Request}
    # msgspec distinguishes members of a union only by a tag, and the replacement of a dropped facet has none.
    facets: tuple[type[msgspec.Struct], ...] = get_args(Facet)
    _, definitions = msgspec.json.schema_components((*named.values(), *facets), ref_template=_REF)
    for name, kind in named.items():
        definitions[name] = {**definitions.pop(kind.__name__), "title": name}
    definitions["EventRecord"]["properties"]["data"] = {"anyOf": [_ref(facet.__name__) for facet in facets]}
    for name, definition in definitions.items():
        definition["description"] = without_ids(definition.get("description", name))
        if name != "RunRequest":
            _as_written(definition, getattr(events, name, None) or named.get(name, ErrorBody))
    keys = {option.key: option.schema for kind in kinds() for option in agent_of(kind).options if option.key}
    extensions = {"type": "object", "properties": keys, "additionalProperties": False, "default": {}}
    definitions["RunRequest"]["properties"] |= {"extensions": extensions, "labels": _LABELS}
    definitions["ErrorBody"]["properties"]["kind"] = {"enum": list(_ERROR_KINDS)}
    describe_members(definitions, (*named.values(), *facets), {kind: name for name, kind in named.items()})
    messages = message_definitions()
    for name, definition in messages.items():
        definition["description"] = without_ids(definition.get("description", name))
    return {
        "$schema": _DIALECT,
        "title": "A record of codex-adapter",
        "oneOf": [_ref(name) for name in _RECORDS],
        "$defs": dict(sorted((definitions | messages).items())),
    }


def _as_written(definition: dict[str, Any], kind: type[msgspec.Struct]) -> None:
    """Mark the fields that are always written as required. msgspec's own schema is about reading."""
    fields = definition["properties"]
    definition["required"] = [name for name in fields if name in definition["required"] or name in _always(kind)]
    for name, field in fields.items():
        if name == "seq":
            field["minimum"] = 0
        field.pop("default", None)
        choices = field.get("anyOf", [])
        if name not in definition["required"] and {"type": "null"} in choices:
            choices.remove({"type": "null"})
            if len(choices) == 1:
                fields[name] = choices[0]


def _always(kind: type[msgspec.Struct]) -> set[str]:
    """Return the names of the fields that are written with any value."""
    omits = kind.__struct_config__.omit_defaults
    return {
        field.encode_name
        for field in msgspec.structs.fields(kind)
        if not omits
        or (field.default is msgspec.NODEFAULT and field.default_factory not in (msgspec.NODEFAULT, list, dict, set))
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}


def _parser(_words: Sequence[str]) -> Parser:
    parser = Parser("schema", "[OPTIONS] [operations|events]", _DESCRIPTION, _EXAMPLES)
    words = one_of(*_OF_OPERATIONS)
    which = "the messages of `operations` instead"
    parser.add_argument("of", nargs="?", type=words, metavar="operations|events", help=which)
    return parser


async def _perform(options: argparse.Namespace, output: Output, _stop: StopSignals) -> int:
    made = _OF_OPERATIONS.get(options.of, json_schema)()
    await output.write(msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")
    return 0


COMMAND = Command(_parser, _perform)
