"""Test generated messages: each operation has its event, and each answer matches the schema."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from codex_adapter.agents import known_places
from codex_adapter.protocols.operations.executor import OperationExecutor
from codex_adapter.protocols.operations.policy import Policy, load_policy
from codex_adapter.protocols.operations.schema import events_schema
from codex_adapter.protocols.operations.store import Store
from codex_adapter.protocols.operations.validation import Invalid, read_operation
from codex_adapter.workspace import Workspace

from .documents import ANY, EXTRA, messages
from .workbench import Message, shell

pytestmark = pytest.mark.rule("O1", "O3", "O4", "O7", "O8", "A7")

POLICY = load_policy("standard", agents=known_places())
WITHOUT_COMMANDS = replace(
    POLICY, operations=replace(POLICY.operations, allow=("message", "createFile"), approve=("editFile",))
)
ANSWERS = jsonschema.Draft7Validator(events_schema())
PATHS = st.sampled_from(["a", "b", "d/e", "d", "é/😀", "\ud800", ".env", ".git/config", "x" * 300, "/", "d/../a", ""])
TEXTS = st.sampled_from(["", "a", "aa\n", "\u2028\u2029", "😀", "\0", "\ud800", "QUE="]) | st.text(max_size=20)
IDS = st.fixed_dictionaries({}, optional={"id": st.sampled_from(["1", "2", "", "é\n", "op_0"])})
EDITS = st.lists(st.fixed_dictionaries({"oldContent": TEXTS, "newContent": TEXTS}), max_size=3)


def of(kind: str, **members: Any) -> st.SearchStrategy[Message]:
    """An operation of a kind, on one of few files so that operations meet."""
    body = st.fixed_dictionaries({"type": st.just(kind), **members}, optional={"encoding": st.just("base64")})
    return st.builds(lambda operation, given: operation | given, body, IDS)


FILES = st.one_of(
    of("createFile", path=PATHS, content=TEXTS, overwrite=st.booleans()),
    of("readFile", path=PATHS),
    of("editFile", path=PATHS, edits=EDITS),
    of("deleteFile", path=PATHS),
    of("message", content=TEXTS),
)
HELD = st.sampled_from(
    [shell("sudo ls"), shell("rm -rf d"), shell("rm -rf d", id="1"), shell("ls 'unclosed"), shell("true")]
)
DECISIONS = st.sampled_from(["approved", "denied"])
WORDS = st.builds(lambda content: {"type": "userMessage", "content": content}, TEXTS | DECISIONS)
APPROVALS = WORDS | st.builds(
    lambda operation_id, decision: {"approval": {"operationId": operation_id, "decision": decision}},
    st.sampled_from(["1", "2", ""]),
    DECISIONS | TEXTS,
)


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """An operation with one member left out, or of another value, or with one more."""
    operation = {**draw(FILES), **draw(EXTRA)}
    name = draw(st.sampled_from([*operation, "id", "encoding", "overwrite"]))
    if draw(st.booleans()):
        operation.pop(name, None)
    else:
        operation[name] = draw(st.sampled_from(ANY))
    return operation


OPERATIONS = st.lists(st.one_of(FILES, FILES, FILES, HELD, damaged(), st.sampled_from(ANY)), max_size=5)


@contextmanager
def a_runtime(policy: Policy, *, kept: bool) -> Iterator[OperationExecutor]:
    """A runtime on a directory of its own. Without a sandbox: to find one takes longer than a message."""
    with tempfile.TemporaryDirectory(prefix="generated-") as directory:
        root = Path(directory) / "workspace"
        root.mkdir()
        state = Path(directory) / "state.db" if kept else None
        with Workspace(root, agents=known_places()) as workspace, Store(state, workspace.root) as store:
            yield OperationExecutor(workspace, store, policy, None)


async def answered(runtime: OperationExecutor, line: bytes) -> Message:
    """The answer to a line, which is one line and keeps the schema; delivered."""
    answer = await runtime.handle(line)
    assert answer.line.endswith(b"\n")
    # What ends a line for some reader of JSON Lines: of those that also end one for `str.splitlines` there may be any.
    assert answer.line.count(b"\n") == 1
    assert not {"\u2028", "\u2029"} & set(answer.line.decode())
    message: Message = json.loads(answer.line)
    ANSWERS.validate(message)
    assert (message["runId"], message["status"]) == (answer.run_id, answer.status)
    await runtime.confirm_delivery(answer)
    return message


async def carried_out(runtime: OperationExecutor, line: bytes, decisions: Iterator[str]) -> list[Message]:
    """The events of all the answers to a message, each operation that waits decided on."""
    answer = await answered(runtime, line)
    events = list(answer["events"])
    while answer["status"] == "awaiting_approval":
        waits = events.pop()
        decision, run_id = next(decisions), answer["runId"]
        if waits["operationType"] == "shell":
            decision = "denied"
        told = {"operationId": waits["operationId"], "decision": decision}
        answer = await answered(runtime, json.dumps({"approval": told}).encode())
        decided = answer["events"][0]
        assert (answer["runId"], decided["operationId"]) == (run_id, waits["operationId"])
        assert decided["type"] == ("policyDenied" if decision == "denied" else waits["operationType"])
        events += answer["events"]
    assert answer["status"] == "completed"
    return events


def check(operations: list[Any], events: list[Message]) -> None:
    """Each operation has one event in its place: of its own kind, or of what was wrong with it."""
    assert len(events) == len(operations)
    for given_, event in zip(operations, events, strict=True):
        found = read_operation(json.dumps(given_).encode())
        if isinstance(found, Invalid):
            assert (event["type"], event["category"]) == ("error", "validation")
            assert event.get("operationId", UNSET) == found.id
        else:
            assert event.get("operationType", event["type"]) == found.type
            assert event.get("operationId", UNSET) == found.id or str(event.get("operationId")).startswith("op_")


@given(st.lists(st.tuples(OPERATIONS, st.lists(DECISIONS, min_size=5, max_size=5)), min_size=1, max_size=10))
@pytest.mark.parametrize("kept", [False, True], ids=["without a state", "with a state"])
def test_each_operation_has_one_event_in_its_place(kept: bool, sent: list[tuple[list[Any], list[str]]]) -> None:
    async def run() -> None:
        for operations, decisions in sent:
            line = json.dumps({"protocolVersion": "1.0", "operations": operations}).encode()
            check(operations, await carried_out(runtime, line, iter(decisions)))

    with a_runtime(POLICY, kept=kept) as runtime:
        trio.run(run)


@given(st.lists(messages() | APPROVALS, min_size=1, max_size=5), st.binary(max_size=20))
def test_any_line_has_one_answer(sent: list[Any], noise: bytes) -> None:
    async def run() -> None:
        for line in (*(json.dumps(message).encode() for message in sent), noise):
            answer = await answered(runtime, line)
            assert answer["events"] != [] or answer["status"] == "completed"

    with a_runtime(WITHOUT_COMMANDS, kept=False) as runtime:
        trio.run(run)
