"""Generate operations messages that are valid, almost valid or arbitrary, with hypothesis."""

from __future__ import annotations

import base64
import binascii
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
from hypothesis import strategies as st

__all__ = ["SEED", "follows_the_rules", "messages"]

SEED = jsonschema.Draft7Validator(json.loads((Path(__file__).parent / "seed_schema.json").read_text()))
"""The schema that the protocol is described by."""

PATHS = [
    "a",
    "a/b.txt",
    "",
    ".",
    "../x",
    "/x",
    "a..b",
    "a\0b",
    "a" * 255,
    "a" * 256,
    "😀" * 127 + "a",
    "😀" * 128,
    "\ud800",
]
CONTENTS = ["", "QQ==", "QQ=", "QR==", "QUJD", "Q-_=", "é", "😀\\\n", "\udc00", "a" * 1000]
TIMEOUTS = [0, 999, 1000, 3_600_000, 3_600_001, 1000.0, 1000.5, 1e6, 1e300, 10**30, -1000]
COMMANDS = ["ls", "", "x" * 4096, "x" * 4097, "😀" * 4096, "é" * 4097, "a\0b"]
ENVS = [{}, {"A": "b"}, {"A": 1}, {"A": None}, {"": ""}, {"\ud800": ""}, {"A": "\udfff"}]
EDITS: list[Any] = [
    *({"oldContent": "a", "newContent": "b"}, {"oldContent": "", "newContent": "", "more": None}),
    *({"oldContent": "a"}, {"oldContent": "a", "newContent": 1}, {"oldContent": "\ud800", "newContent": ""}, [], None),
]
SAID = ["hello", "", "a\nb", "é", "😀", "\0", "1.0", "message", "a" * 100_000, "a" * 100_001]
ANY = [
    None,
    True,
    False,
    0,
    1,
    1000,
    1.5,
    "",
    "1.0",
    "shell",
    "utf-8",
    "hex",
    [],
    {},
    [None],
    {"a": 1},
    "\ud83d",
    ["\udc00"],
]
PATH = st.sampled_from(PATHS[:2]) | st.sampled_from(PATHS)
EXTRA = st.fixed_dictionaries({}, optional={"more": st.sampled_from(ANY)})
OPTIONAL_ID = {"id": st.text(max_size=3)}
ENCODING = st.sampled_from(["utf-8", "base64"])


def _operation(kind: str, required: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"type": st.just(kind), **required}, optional={**OPTIONAL_ID, **(optional or {})})


CONTENT = st.sampled_from(CONTENTS[:5]) | st.sampled_from(CONTENTS) | st.text(max_size=9)
EDIT_LISTS = st.lists(st.sampled_from(EDITS[:2]) | st.sampled_from(EDITS), max_size=3)
OPERATIONS = st.one_of(
    _operation("message", {"content": st.sampled_from(SAID[:2]) | st.sampled_from(SAID)}),
    _operation("createFile", {"path": PATH, "content": CONTENT}, {"encoding": ENCODING, "overwrite": st.booleans()}),
    _operation("readFile", {"path": PATH}, {"encoding": ENCODING}),
    _operation("editFile", {"path": PATH, "edits": EDIT_LISTS}),
    _operation("deleteFile", {"path": PATH}),
    _operation(
        "shell",
        {"command": st.sampled_from(COMMANDS[:2]) | st.sampled_from(COMMANDS)},
        {"cwd": PATH, "timeout": st.sampled_from(TIMEOUTS), "env": st.sampled_from(ENVS)},
    ),
)
JSON = st.recursive(
    st.sampled_from(ANY) | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def _damaged(draw: st.DrawFn) -> Any:
    """An operation with one member left out, put in, or of another value."""
    operation = {**draw(OPERATIONS), **draw(EXTRA)}
    names = [*operation, "id", "encoding", "overwrite", "cwd", "timeout", "env"]
    name = draw(st.sampled_from(names))
    if draw(st.booleans()):
        operation.pop(name, None)
    else:
        operation[name] = draw(st.sampled_from(ANY))
    return operation


@st.composite
def messages(draw: st.DrawFn) -> Any:
    """A message: right, with operations that are not, with another envelope, or no message at all."""
    operations = draw(
        st.lists(OPERATIONS | _damaged() | st.sampled_from(ANY), max_size=2) | st.lists(OPERATIONS, max_size=2)
    )
    message: Any = {"protocolVersion": "1.0", "operations": operations, **draw(EXTRA)}
    match draw(st.integers(0, 9)):
        case 0:
            message.pop(draw(st.sampled_from(sorted(message))))
        case 1:
            message[draw(st.sampled_from(sorted(message)))] = draw(st.sampled_from(ANY) | JSON)
        case 2:
            message = draw(JSON)
    return copy.deepcopy(message)


def follows_the_rules(operation: Any) -> bool:
    """Whether an operation that fits the schema keeps the rules that the schema does not say."""
    if any("\ud800" <= character <= "\udfff" for string in _strings(operation) for character in string):
        return False
    path = operation.get("cwd", "") if operation["type"] == "shell" else operation.get("path", "")
    if operation["type"] == "createFile" and operation.get("encoding") == "base64":
        try:
            data = base64.b64decode(operation["content"].encode(), validate=True)
        except binascii.Error:
            return False
        if base64.b64encode(data).decode() != operation["content"]:
            return False
    if operation["type"] == "message":
        return True
    return not path.startswith("/") and ".." not in path and "\0" not in path and len(path.encode("utf-16-le")) <= 510


def _strings(operation: Any) -> Iterator[str]:
    """Those that are read."""
    yield operation.get("id", "")
    match operation["type"]:
        case "message":
            yield operation["content"]
        case "shell":
            yield from (operation["command"], operation.get("cwd", ""))
            for item in operation.get("env", {}).items():
                yield from item
        case kind:
            yield operation["path"]
            if kind == "createFile":
                yield operation["content"]
            for edit in operation["edits"] if kind == "editFile" else []:
                yield from (edit["oldContent"], edit["newContent"])
