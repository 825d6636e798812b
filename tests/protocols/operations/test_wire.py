"""Test the messages: lines, decisions, and the form of events in the output."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec import UNSET

from codex_adapter.protocols.operations.encoding import encode_events_message, event_pieces, timestamp
from codex_adapter.protocols.operations.events import (
    ApprovalDetails,
    ApprovalRequiredEvent,
    CreateFileEvent,
    DeleteFileEvent,
    EditFileEvent,
    ErrorEvent,
    LeftOut,
    MessageEvent,
    OperationEvent,
    PolicyDeniedEvent,
    ReadFileEvent,
    ShellEvent,
    UserMessageEvent,
)
from codex_adapter.protocols.operations.messages import (
    MOST_OPERATIONS,
    Approval,
    InvalidMessageError,
    OperationsMessage,
    UserMessage,
    read_events_message,
    read_message,
)
from codex_adapter.protocols.operations.text_pieces import Text
from codex_adapter.protocols.operations.validation import Invalid, read_operation

from ...rows import rows

NOW = "2025-01-15T10:30:00.000Z"
EVENTS: list[tuple[OperationEvent, str]] = [
    (UserMessageEvent(timestamp=NOW, content="hello"), '"type":"userMessage","timestamp":"NOW","content":"hello"'),
    (MessageEvent(timestamp=NOW), '"type":"message","timestamp":"NOW","success":true'),
    (
        CreateFileEvent(timestamp=NOW, operation_id="1", path="a", success=True, bytes_written=0),
        '"type":"createFile","timestamp":"NOW","operationId":"1","path":"a","success":true,"bytesWritten":0',
    ),
    (
        ReadFileEvent(timestamp=NOW, path="a", success=True, content=Text.of("é\n"), encoding="utf-8", size=3),
        '"type":"readFile","timestamp":"NOW","path":"a","success":true,"encoding":"utf-8","size":3,"content":"é\\n"',
    ),
    (
        EditFileEvent(timestamp=NOW, operation_id=None, path="a", success=True, edits_applied=2),
        '"type":"editFile","timestamp":"NOW","path":"a","success":true,"editsApplied":2',
    ),
    (
        DeleteFileEvent(timestamp=NOW, path="a", success=False, error="File not found"),
        '"type":"deleteFile","timestamp":"NOW","path":"a","success":false,"error":"File not found"',
    ),
    (
        ShellEvent(
            timestamp=NOW,
            command="ls",
            success=False,
            exit_code=124,
            stdout="\u2028",
            stderr="",
            left_out=LeftOut(stdout=7),
            duration_ms=1,
            timed_out=True,
            sandbox="bubblewrap",
        ),
        '"type":"shell","timestamp":"NOW","command":"ls","success":false,"exitCode":124,"stdout":"\\u2028","stderr":"",'
        '"leftOut":{"stdout":7},"durationMs":1,"timedOut":true,"sandbox":"bubblewrap"',
    ),
    (
        ApprovalRequiredEvent(
            timestamp=NOW,
            operation_id="1",
            operation_type="shell",
            reason="r",
            details=ApprovalDetails(command="rm a", policy="p"),
        ),
        '"type":"approvalRequired","timestamp":"NOW","operationId":"1","operationType":"shell","reason":"r",'
        '"details":{"command":"rm a","policy":"p"}',
    ),
    (
        PolicyDeniedEvent(timestamp=NOW, operation_type="shell", reason="r"),
        '"type":"policyDenied","timestamp":"NOW","operationType":"shell","reason":"r"',
    ),
    (
        ErrorEvent(timestamp=NOW, category="validation", message="m", details={"index": 1}),
        '"type":"error","timestamp":"NOW","category":"validation","message":"m","details":{"index":1}',
    ),
]


@pytest.mark.rule("O4")
@rows(("event", "members"), EVENTS, ids=[type(event).__name__ for event, _ in EVENTS])
def test_an_event_has_its_members_in_their_order_and_none_that_is_absent(event: OperationEvent, members: str) -> None:
    expected = "{" + members.replace("NOW", NOW) + "}"
    assert b"".join(event_pieces(event)).decode() == expected
    line = encode_events_message("run_1", "awaiting_approval", [event, event])
    envelope = '{"protocolVersion":"1.0","runId":"run_1","status":"awaiting_approval","events":'
    assert line.decode() == f"{envelope}[{expected},{expected}]}}\n"
    read = read_events_message(line)
    assert (read.run_id, read.status, read.events) == ("run_1", "awaiting_approval", [event, event])


@pytest.mark.rule("O4")
def test_a_message_with_no_events_is_one() -> None:
    line = encode_events_message("run_1", "completed", [])
    assert line == b'{"protocolVersion":"1.0","runId":"run_1","status":"completed","events":[]}\n'


@pytest.mark.rule("O4")
def test_null_is_read_as_no_operation_id() -> None:
    given = b'{"type":"message","operationId":null,"timestamp":"t","success":true}'
    [event] = read_events_message(encode_events_message("run_1", "completed", [given])).events
    assert event == MessageEvent(timestamp="t")
    assert isinstance(event, MessageEvent)
    assert event.operation_id is UNSET


@pytest.mark.rule("O4")
@rows(
    "line",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 50_000,
        b'{"protocolVersion":"1.1","runId":"r","status":"completed","events":[]}',
    ],
)
def test_what_is_no_events_message_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidMessageError, match=r"^an events message must have the members of version 1\.0$"):
        read_events_message(line)


@pytest.mark.rule("O4")
@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2025, 1, 15, 10, 30, tzinfo=UTC), NOW),
        (datetime(2025, 1, 15, 12, 30, 0, 999_999, timezone(timedelta(hours=2))), "2025-01-15T10:30:00.999Z"),
    ],
)
def test_times_are_utc_to_the_millisecond(moment: datetime, text: str) -> None:
    assert timestamp(moment) == text


@pytest.mark.rule("O1")
def test_the_operations_of_a_message_are_the_json_that_came() -> None:
    message = read_message(b' {"operations": [ {"type": "zip"} , 5 ], "protocolVersion": "1.0", "approval": null}\n')
    assert isinstance(message, OperationsMessage)
    assert [bytes(operation) for operation in message.operations] == [b'{"type": "zip"}', b"5"]
    assert all(isinstance(read_operation(operation), Invalid) for operation in message.operations)


@pytest.mark.rule("O5")
@rows(
    ("content", "decision"),
    [
        ("approved", "approved"),
        ("denied", "denied"),
        (" Approved\r\n", "approved"),
        ("\tDENIED", "denied"),
        ("approve", None),
        ("approved.", None),
        ("not approved", None),
        ("yes", None),
        ("approved denied", None),
        ("", None),
        ("\u00a0approved", None),
        ("ａｐｐｒｏｖｅｄ", None),
        ("den\u0131ed", None),
        ("\x1fapproved", None),
    ],
)
def test_one_word_alone_is_a_decision(content: str, decision: str | None) -> None:
    message = read_message(json.dumps({"type": "userMessage", "content": content, "timestamp": NOW}).encode())
    assert message == UserMessage(content=content)
    assert message.decision == decision


@pytest.mark.rule("O5")
def test_an_approval_may_say_its_reason_and_its_run() -> None:
    approval = {"operationId": "1", "decision": "denied", "reason": "no", "runId": "run_1", "more": None}
    message = read_message(json.dumps({"approval": approval, "more": 1}).encode())
    assert message == Approval(operation_id="1", decision="denied", reason="no", run_id="run_1")


@pytest.mark.rule("O1", "O5")
@rows(
    ("message", "text"),
    [
        ({}, 'protocolVersion: is missing; it must be "1.0"'),
        (
            {"type": "message", "content": "a"},
            'protocolVersion: is missing; it must be "1.0"',
        ),
        ({"type": "userMessage"}, "content: is missing; it must be a string"),
        ({"type": "userMessage", "content": None}, "content: must be a string"),
        (
            {"type": "userMessage", "content": "\ud800"},
            "content: has half of a surrogate pair. Write the character itself, or the escapes of both halves",
        ),
        ({"approval": None}, "approval: must be an object"),
        (
            {"approval": {}},
            "approval.operationId: is missing; it must be a string, the operationId of approvalRequired",
        ),
        ({"approval": {"operationId": "1", "decision": "yes"}}, 'approval.decision: must be "approved" or "denied"'),
        ({"approval": {"operationId": "1", "decision": "denied", "reason": None}}, "approval.reason: must be a string"),
        (5, "a message must be an object with protocolVersion and operations"),
    ],
)
def test_an_error_names_the_member_and_its_rule(message: Any, text: str) -> None:
    with pytest.raises(InvalidMessageError) as caught:
        read_message(json.dumps(message).encode())
    assert str(caught.value) == text


@pytest.mark.rule("O1")
@rows("line", [b"", b"{", b"nonsense", b'{"a":"\xff"}', b'{"a":"\\ud800"', b'{"a":"\\ud800","b":NaN}'])
def test_what_is_no_json_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidMessageError, match=r"^a message must be JSON in UTF-8$"):
        read_message(line)


@pytest.mark.rule("O1")
def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(InvalidMessageError, match=r"^a message must be nested less deeply$"):
        read_message(b'{"operations":' + b"[" * 50_000)


@pytest.mark.rule("O1")
@pytest.mark.parametrize("element", ["0", "{}", "[]", '{"type":"message","content":"a"}', '"\\ud800"'])
def test_a_message_has_at_most_ten_thousand_operations(element: str) -> None:
    for count in (MOST_OPERATIONS, MOST_OPERATIONS + 1):
        line = f'{{"protocolVersion":"1.0","operations":[{",".join([element] * count)}]}}'.encode()
        if count == MOST_OPERATIONS:
            message = read_message(line)
            assert isinstance(message, OperationsMessage)
            assert len(message.operations) == count
        else:
            with pytest.raises(InvalidMessageError, match=r"^operations: must be a list of at most 10000 operations$"):
                read_message(line)


@pytest.mark.rule("O1")
def test_half_of_a_pair_in_a_large_message_makes_all_of_it_wrong() -> None:
    content = "a" * 1024 * 1024 + r"\ud800"
    line = f'{{"protocolVersion":"1.0","operations":[{{"type":"message","content":"{content}"}}]}}'.encode()
    with pytest.raises(InvalidMessageError, match=r"^a message has half of a surrogate pair\. "):
        read_message(line)


HOSTILE = """
import json, sys, tracemalloc
from codex_adapter.protocols.operations.messages import read_message
from codex_adapter.protocols.operations.validation import Invalid, read_operation

SIZE = 16 * 1024 * 1024
kind = sys.argv[1]
filler = {
    "operations": b'{"protocolVersion":"1.0","operations":[' + b"0," * (SIZE // 2) + b"0]}",
    "edits": b'{"protocolVersion":"1.0","operations":[{"type":"editFile","path":"a","edits":['
    + b"0," * (SIZE // 2) + b"0]}]}",
    "members": b'{"protocolVersion":"1.0","operations":[{' + b'"":0,' * (SIZE // 5) + b'"type":0}]}',
    "members of the message": b'{"protocolVersion":"1.0",' + b'"":0,' * (SIZE // 5) + b'"operations":[]}',
    "half of a pair": b'{"protocolVersion":"1.0","operations":["\\ud800"' + b",{}" * (SIZE // 3) + b"]}",
}
line = filler[kind]
del filler
read_message(b'{"protocolVersion":"1.0","operations":[]}')  # what is made once
tracemalloc.start()
try:
    for operation in read_message(line).operations:
        assert isinstance(read_operation(operation), Invalid)
except ValueError:
    pass
print(tracemalloc.get_traced_memory()[1])
"""


@pytest.mark.rule("O1", "O3")
@pytest.mark.parametrize("kind", ["operations", "edits", "members", "members of the message", "half of a pair"])
@pytest.mark.fault(
    "resources",
    "A message of 16 MiB contains millions of operations, edits or members",
    "It is refused, or read without unused members; memory stays bounded",
)
def test_millions_of_things_in_a_message_are_not_made(kind: str) -> None:
    done = subprocess.run([sys.executable, "-c", HOSTILE, kind], capture_output=True, check=True, text=True, timeout=60)
    assert int(done.stdout) < 4 * 1024 * 1024
