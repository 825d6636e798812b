"""Test the limits of operations, and errors that name the member and its rule but no value."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from codex_adapter.protocols.operations.messages import InvalidMessageError, validate_operations_message
from codex_adapter.protocols.operations.operations import (
    MOST_FILE_BYTES,
    CreateFileOperation,
    EditFileOperation,
    FileEdit,
    ReadFileOperation,
    ShellOperation,
)
from codex_adapter.protocols.operations.validation import (
    Invalid,
    InvalidOperationError,
    Valid,
    parse_operation,
    read_operation,
    validate_operation,
)
from tests.widths import crossed

from ...rows import rows

SECRET = "sk-secret"
PATH_RULE = "Use a path below the workspace's root"
STRING = "must be a string of at most"
TIMEOUT = "timeout: must be a whole number of milliseconds, 1000 to 3600000; without it 30000"
TYPES = "must be one of message, createFile, readFile, editFile, deleteFile, shell"
HALF = "has half of a surrogate pair. Write the character itself, or the escapes of both halves"
EDITS = "edits: must be a list of objects with the strings oldContent and newContent, applied in order"
BASE64 = "content: must be base64 in the standard alphabet with padding, because encoding is base64"


def message(**members: Any) -> dict[str, Any]:
    return {"type": "message", "content": "hello", **members}


def create(**members: Any) -> dict[str, Any]:
    return {"type": "createFile", "path": "a", "content": "hello", **members}


def edit(**members: Any) -> dict[str, Any]:
    return {"type": "editFile", "path": "a", "edits": [], **members}


def shell(**members: Any) -> dict[str, Any]:
    return {"type": "shell", "command": "ls", **members}


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def error(given_operation: object) -> str:
    result = validate_operation(given_operation)
    assert isinstance(result, Invalid)
    assert result.success is False
    return result.error


@pytest.mark.rule("O2")
def test_what_is_left_out_has_the_default_of_the_protocol() -> None:
    assert parse_operation(shell()) == ShellOperation(command="ls", cwd="", timeout=30_000, env={})
    assert parse_operation({"type": "readFile", "path": "a"}) == ReadFileOperation(path="a", encoding="utf-8")
    created = parse_operation(create())
    assert isinstance(created, CreateFileOperation)
    assert (created.id, created.overwrite, created.encoding) == (UNSET, False, "utf-8")
    assert b"".join(created.pieces()) == b"hello"


@pytest.mark.rule("O2")
def test_members_that_nobody_knows_are_left_aside() -> None:
    given_edit = {"oldContent": "a", "newContent": "b", "more": {"a": [None]}}
    operation = parse_operation(edit(edits=[given_edit], more=None))
    assert operation == EditFileOperation(path="a", edits=[FileEdit(old_content="a", new_content="b")])


@pytest.mark.rule("O2")
@rows(
    "right",
    [
        message(content="é" * 100_000),
        message(content=""),
        message(content="\0"),
        create(path="😀" * 127 + "a"),
        create(path="a" * 255),
        create(path=""),
        create(content=""),
        create(content="", encoding="base64"),
        shell(command="😀" * 4_096),
        shell(cwd="src", env={"": "", "A": "b"}),
        shell(timeout=1_000),
        shell(timeout=3_600_000),
        '{"type":"shell","command":"ls","timeout":1e3}',
        '{"type":"shell","command":"ls","timeout":3600000.0}',
        '{"type":5,"type":"message","content":"the last of a name counts"}',
        '{"type":"message","content":"a","more":"\\udc00"}',
        ' {"type":"message","content":"a"}\n',
    ],
)
def test_what_is_within_the_limits_is_right(right: object) -> None:
    assert isinstance(validate_operation(right), Valid)


@pytest.mark.rule("O2", "O3")
@rows(
    ("wrong", "text"),
    [
        ({}, f"type: is missing; it {TYPES}"),
        ({"type": "zip"}, f"type: {TYPES}"),
        ({"type": None}, f"type: {TYPES}"),
        ({"type": ["shell"]}, f"type: {TYPES}"),
        ({"type": "Shell", "command": "ls"}, f"type: {TYPES}"),
        ([], f"an operation must be an object; its type {TYPES}"),
        (None, f"an operation must be an object; its type {TYPES}"),
        ({"type": "message"}, f"content: is missing; it {STRING} 100000 characters"),
        (message(content="é" * 100_001), f"content: {STRING} 100000 characters"),
        (message(content=None), f"content: {STRING} 100000 characters"),
        (message(id=5), "id: must be a string; its event has it as operationId"),
        (message(id=None), "id: must be a string; its event has it as operationId"),
        (create(path="/a"), f"path: must not start with '/'. {PATH_RULE}"),
        (create(path="../a"), f"path: must not contain '..'. {PATH_RULE}"),
        (create(path="a..b"), f"path: must not contain '..'. {PATH_RULE}"),
        (create(path="a\0b"), "path: must not contain the character NUL. Leave it out"),
        (create(path="😀" * 128), "path: must be at most 255 characters, as UTF-16 counts them. Shorten it"),
        (create(path="a" * 256), f"path: {STRING} 255 characters, a path below the workspace's root, no '..' in it"),
        (shell(cwd="/"), f"cwd: must not start with '/'. {PATH_RULE}"),
        (shell(cwd=".."), f"cwd: must not contain '..'. {PATH_RULE}"),
        ({"type": "readFile", "path": "/a"}, f"path: must not start with '/'. {PATH_RULE}"),
        ({"type": "deleteFile", "path": "a/../b"}, f"path: must not contain '..'. {PATH_RULE}"),
        (edit(path="\0"), "path: must not contain the character NUL. Leave it out"),
        (create(encoding="latin-1"), 'encoding: must be "utf-8" or "base64"; without it "utf-8"'),
        (create(encoding="base64", content=SECRET), BASE64),
        (create(encoding="base64", content="QQ=="[:3]), BASE64),
        (
            create(overwrite="yes"),
            "overwrite: must be true or false, whether an existing file is replaced; without it false",
        ),
        (create(content=5), "content: must be a string, the file's content, at most 10 MiB once decoded"),
        (
            edit(edits={}),
            EDITS,
        ),
        (edit(edits=[SECRET]), EDITS),
        (
            edit(edits=[{"oldContent": "a", "newContent": "b"}, {"oldContent": "a"}]),
            EDITS,
        ),
        (shell(command="x" * 4_097), f"command: {STRING} 4096 characters"),
        (shell(timeout=999), TIMEOUT),
        (shell(timeout=3_600_001), TIMEOUT),
        (shell(timeout=1000.5), TIMEOUT),
        (shell(timeout=True), TIMEOUT),
        (shell(timeout="1000"), TIMEOUT),
        (shell(timeout=None), TIMEOUT),
        ('{"type":"shell","command":"ls","timeout":1e999}', TIMEOUT),
        ('{"type":"shell","command":"ls","timeout":%s}' % ("1" * 5_000), TIMEOUT),
        (shell(env={SECRET: 1}), "env: must be an object whose values are strings, environment variables to add"),
        (shell(env=[]), "env: must be an object whose values are strings, environment variables to add"),
        ('{"type":"message","content":"\\ud800"}', f"content: {HALF}"),
        (create(content="\ud83d"), f"content: {HALF}"),
        (create(content="\udc00", encoding="base64"), f"content: {HALF}"),
        (create(path="\udfff"), f"path: {HALF}"),
        (edit(edits=[{"oldContent": "\ud800", "newContent": ""}]), f"edits: {HALF}"),
        (shell(env={"\ud800": ""}), f"env: {HALF}"),
        (b'{"type":"message","content":"\xff"}', "content: must be UTF-8"),
        (b'{"type":"createFile","path":"a","content":"\xed\xa0\x80"}', "content: must be UTF-8"),
        ("", "an operation must be JSON in UTF-8"),
        ("{", "an operation must be JSON in UTF-8"),
        ("\ud800", "an operation must be JSON in UTF-8"),
        ('{"type":"message","content":"\\ud800"', "an operation must be JSON in UTF-8"),
        ('{"type":"message","content":"a","more":"\\ud800","n":NaN}', "an operation must be JSON in UTF-8"),
        (b"\xef\xbb\xbf{}", "an operation must be JSON in UTF-8"),
        ('{"type":"message","content":"a","more":' + "[" * 50_000, "an operation must be nested less deeply"),
        ('{"type":"message","content":"\\ud800","more":' + "[" * 50_000, "an operation must be nested less deeply"),
        (message(more=nested(50_000)), "an operation must be nested less deeply"),
        (
            message(more=b""),
            "an operation must have only objects, arrays, strings, numbers, true, false and null",
        ),
        (
            message(more=float("nan")),
            "an operation must have only objects, arrays, strings, numbers, true, false and null",
        ),
    ],
)
def test_an_error_names_the_member_and_its_rule(wrong: object, text: str) -> None:
    assert error(wrong) == text
    with pytest.raises(InvalidOperationError) as caught:
        parse_operation(wrong)
    assert str(caught.value) == text
    assert isinstance(caught.value, ValueError)


@pytest.mark.rule("O3")
@rows("field", ["type", "path", "content", "encoding", "overwrite", "id"])
@rows("value", [SECRET, [SECRET], {SECRET: SECRET}, f"/{SECRET}", f"{SECRET}\ud800", SECRET * 1_000])
def test_no_error_quotes_what_was_given(field: str, value: object) -> None:
    result = validate_operation(create(**{field: value}))
    if isinstance(result, Invalid):
        assert SECRET not in result.error
        assert len(result.error) < 200


@pytest.mark.rule("O3")
@given(st.binary(max_size=40) | st.text(max_size=40) | st.text('{}[]",:\\ud8typeshl', max_size=40))
def test_any_text_is_an_operation_or_has_an_error(given_text: bytes | str) -> None:
    assert isinstance(validate_operation(given_text), Valid | Invalid)
    assert isinstance(validate_operations_message(given_text), Valid | Invalid)


@pytest.mark.rule("O2")
@rows("over", [0, 1])
@pytest.mark.parametrize(("content", "encoding"), crossed(["a", "é", "\n", "😀"], ["utf-8", "base64"]))
def test_a_file_has_at_most_ten_mebibytes_once_decoded(encoding: str, content: str, over: int) -> None:
    data = content.encode() * (MOST_FILE_BYTES // len(content.encode())) + b"a" * over
    given_content = base64.b64encode(data).decode() if encoding == "base64" else data.decode()
    result = read_operation(Raw(json.dumps(create(content=given_content, encoding=encoding)).encode()))
    if over:
        assert isinstance(result, Invalid)
        assert result.error.startswith("content: must be at most 10485760 bytes (10 MiB) once decoded. ")
    else:
        assert isinstance(result, CreateFileOperation)
        assert sum(map(len, result.pieces())) == MOST_FILE_BYTES


@pytest.mark.rule("O3")
def test_a_wrong_operation_still_says_its_id_and_its_type_where_these_are_right() -> None:
    assert validate_operation(create(id="x", path="/")) == Invalid(
        error=f"path: must not start with '/'. {PATH_RULE}", id="x", operation_type="createFile"
    )
    wrong = validate_operation({"type": "zip", "id": "x"})
    assert isinstance(wrong, Invalid)
    assert (wrong.id, wrong.operation_type) == ("x", UNSET)
    wrong = validate_operation(message(id=["x"]))
    assert isinstance(wrong, Invalid)
    assert (wrong.id, wrong.operation_type) == (UNSET, "message")


@pytest.mark.rule("O1", "O3")
@rows("half", ["", "\ud800"])
def test_a_wrong_operation_makes_no_other_one_wrong_and_no_message(half: str) -> None:
    operations = [message(id="1"), None, {"type": "zip"}, message(content=half or None), shell()]
    result = validate_operations_message({"protocolVersion": "1.0", "operations": operations})
    assert isinstance(result, Valid)
    assert [operation.success for operation in result.data] == [True, False, False, False, True]
    assert result.data[4] == Valid(ShellOperation(command="ls"))


@pytest.mark.rule("O1")
@rows(
    ("wrong", "text"),
    [
        ({"operations": []}, 'protocolVersion: is missing; it must be "1.0"'),
        (
            {"protocolVersion": "1.1", "operations": []},
            'protocolVersion: must be "1.0"',
        ),
        ({"protocolVersion": 1.0, "operations": []}, 'protocolVersion: must be "1.0"'),
        (
            {"protocolVersion": None, "operations": []},
            'protocolVersion: must be "1.0"',
        ),
        ({"protocolVersion": "1.0"}, "operations: is missing; it must be a list of at most 10000 operations"),
        ({"protocolVersion": "1.0", "operations": {}}, "operations: must be a list of at most 10000 operations"),
        ({"protocolVersion": "1.0", "operations": None}, "operations: must be a list of at most 10000 operations"),
        ([], "a message must be an object with protocolVersion and operations"),
        ("{", "a message must be JSON in UTF-8"),
        (b'{"protocolVersion":"1.0","operations":["\xff"]}', "a message must be JSON in UTF-8"),
        (
            {"protocolVersion": "1.0", "operations": [b""]},
            "a message must have only objects, arrays, strings, numbers, true, false and null",
        ),
        ('{"operations":' + "[" * 50_000, "a message must be nested less deeply"),
    ],
)
def test_what_is_no_message_is_refused_as_a_whole(wrong: object, text: str) -> None:
    assert validate_operations_message(wrong) == Invalid(error=text)
    assert issubclass(InvalidMessageError, ValueError)
