"""Test `schema`: one JSON Schema that accepts every record and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from codex_adapter import (
    AdapterError,
    BackendError,
    Completion,
    Event,
    ExitStatus,
    InvalidRequestError,
    codex_pipeline,
    events,
)
from codex_adapter.agents.claude import extensions as claude
from codex_adapter.agents.codex.extensions import CAPABILITIES, read_extensions
from codex_adapter.agents.pi import extensions as pi
from codex_adapter.cli.schema.command import json_schema
from codex_adapter.protocols.operations.schema import events_schema, operations_schema
from codex_adapter.records import encode_completion, encode_events
from tests.widths import thinned

from ..rows import rows
from .command import Cli

pytestmark = pytest.mark.rule("C5")
FIXTURES = Path(__file__).parents[2] / "fixtures" / "codex"
SCHEMA = json_schema()
RECORD = jsonschema.Draft202012Validator(SCHEMA)
REQUEST = jsonschema.Draft202012Validator({"$ref": "#/$defs/RunRequest", "$defs": SCHEMA["$defs"]})
SESSION = {"selector": "id", "id": "0199"}


def test_the_command_prints_it(cli: Cli) -> None:
    done = cli.run("schema")
    assert (done.status, done.stderr) == (0, "")
    assert json.loads(done.stdout) == SCHEMA
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.rule("W1", "W2", "W3")
@rows("full", [False, True])
@pytest.mark.parametrize("version", thinned(sorted(path.name for path in FIXTURES.iterdir() if path.is_dir()), 4))
def test_every_record_of_the_real_recordings_fits(version: str, full: bool) -> None:
    for path in sorted((FIXTURES / version).glob("*.jsonl")):
        if path.name.endswith(".events.jsonl"):
            continue
        pipeline = codex_pipeline(full_payloads=full)
        seen = [*pipeline.receive_data(path.read_bytes()), *pipeline.receive_eof()]
        lines = encode_events(seen) + encode_completion(len(seen), pipeline.completion(ExitStatus(code=0)))
        for line in lines.splitlines():
            RECORD.validate(json.loads(line))


@pytest.mark.parametrize(
    "outcome",
    [
        Completion(status=ExitStatus(code=0)),
        Completion(status=ExitStatus(signal="SIGKILL"), session_id="s", turn="cut_off", usage={"input_tokens": 1}),
        Completion(status=ExitStatus(code=1), turn="failed", hint="rate_limited"),
        BackendError("timeout", "codex stream idle timeout: 30s", hint="no_network"),
        InvalidRequestError("prompt must be"),
    ],
)
def test_every_kind_of_completion_fits(outcome: Completion | AdapterError) -> None:
    RECORD.validate(json.loads(encode_completion(0, outcome)))


def test_what_stands_in_place_of_a_facet_over_its_bound_fits() -> None:
    RECORD.validate(json.loads(encode_events([Event(0, "codex", "unknown", data=events.Dropped())])))


@rows(
    "record",
    [
        {},
        {"type": "event"},
        {"type": "event", "seq": -1, "agent_kind": "codex", "kind": "status"},
        {"type": "event", "seq": 0, "agent_kind": "codex", "kind": "other"},
        {"type": "event", "seq": 0, "agent_kind": "codex", "kind": "status", "message": None},
        {"type": "event", "seq": 0, "agent_kind": "codex", "kind": "status", "data": {}},
        {"type": "event", "seq": 0, "agent_kind": "codex", "kind": "status", "data": {"schema": "other"}},
        {"type": "completion", "seq": 0, "outcome": "completed"},
        {"type": "completion", "seq": 0, "outcome": "completed", "ok": False, "status": {"code": 0}},
        {"type": "completion", "seq": 0, "outcome": "completed", "status": {"code": 0, "signal": None}},
        {"type": "completion", "seq": 0, "outcome": "failed", "ok": False},
        {"type": "completion", "seq": 0, "outcome": "failed", "ok": False, "error": {"kind": "other", "message": ""}},
        {
            "type": "completion",
            "seq": 0,
            "outcome": "completed",
            "ok": False,
            "status": {"code": 1, "signal": None},
            "hint": "other",
        },
    ],
)
def test_what_is_no_record_does_not_fit(record: dict[str, Any]) -> None:
    assert not RECORD.is_valid(record)


def test_the_requests_extensions_are_those_that_are_read() -> None:
    described = SCHEMA["$defs"]["RunRequest"]["properties"]["extensions"]["properties"]
    agents = [(CAPABILITIES, read_extensions), (claude.CAPABILITIES, claude.read_extensions)]
    agents.append((pi.CAPABILITIES, pi.read_extensions))
    assert set(described) < CAPABILITIES | claude.CAPABILITIES | pi.CAPABILITIES

    class Anything:
        cwd = "/"

        def is_dir(self, path: str) -> bool:
            return True

        def is_file(self, path: str) -> bool:
            return True

    read = set()
    for capabilities, reader in agents:
        for key in capabilities:
            try:
                reader({key: None}, Anything())
            except InvalidRequestError:
                read.add(key)
            except AdapterError:
                continue
    assert set(described) == read


@pytest.mark.parametrize(
    "request_",
    [
        {"prompt": "Hi."},
        {"prompt": "Hi.", "working_dir": "/", "timeout": 1.5, "env": {"A": "b"}, "extensions": {}},
        {"prompt": "Hi.", "extensions": {"agent_api.session.resume.v1": SESSION, "backend.codex.output_schema": {}}},
        {"prompt": "Hi.", "extensions": {"agent_api.exec.add_dirs.v1": {"dirs": ["a"]}}},
    ],
)
def test_requests_fit(request_: dict[str, Any]) -> None:
    REQUEST.validate(request_)


@rows(
    "request_",
    [
        {},
        {"prompt": 1},
        {"prompt": "Hi.", "other": 1},
        {"prompt": "Hi.", "env": {"A": 1}},
        {"prompt": "Hi.", "extensions": {"un.known": 1}},
        {"prompt": "Hi.", "extensions": {"agent_api.session.fork.v1": {"selector": "last", "id": "x"}}},
        {"prompt": "Hi.", "extensions": {"backend.codex.exec.sandbox_mode": "none"}},
    ],
)
def test_what_is_no_request_does_not_fit(request_: dict[str, Any]) -> None:
    assert not REQUEST.is_valid(request_)


def test_descriptions_have_no_ids_of_rules() -> None:
    assert not [name for name, schema in SCHEMA["$defs"].items() if schema["description"].rstrip(".").endswith(")")]


@pytest.mark.rule("O6")
@pytest.mark.parametrize(("of", "schema"), [("operations", operations_schema), ("events", events_schema)])
def test_the_messages_of_operations_have_schemas_of_their_own(
    cli: Cli, of: str, schema: Callable[[], dict[str, Any]]
) -> None:
    done = cli.run("schema", of)
    assert (done.status, done.stderr) == (0, "")
    assert json.loads(done.stdout) == schema()
