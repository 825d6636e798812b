"""Check a conversation against the specification of JSON-RPC 2.0, without rules or code of the product.

`broken_rules` reads a log: the lines of both sides in the order in which the client wrote and read them. It reports
everything that the specification forbids. It accepts what the specification leaves open: the response to an invalid
request may have the id of the request, if one exists, or null.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .json_text import NotJsonError, UnclearError, Value, parse

__all__ = ["LARGEST_BATCH", "LONGEST", "Line", "broken_rules"]

LONGEST = 16 * 1024 * 1024
"""Bytes of a line that the server reads."""
LARGEST_BATCH = 100
"""No server need take more requests at once: the answers to as many as fit in a line fit in no memory."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_DEFINED = {PARSE_ERROR, INVALID_REQUEST, -32601, -32602, -32603, *range(-32099, -31999)}
_RESERVED = range(-32768, -31999)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_ID_KINDS = ("string", "number", "null")


class Line(NamedTuple):
    """One line of a conversation, without its newline; `sent` by the client to the server."""

    sent: bool
    data: bytes


class _Due(NamedTuple):
    """One answer that is due: the texts that its id may have, and the code that it must have, None for any answer."""

    ids: frozenset[str] | None
    code: int | None


class _Answer(NamedTuple):
    id: str
    code: int | None


class _Open:
    """The answers that are still due."""

    def __init__(self, due: Iterable[_Due] = ()) -> None:
        self._by_id: dict[str | None, Counter[_Due]] = defaultdict(Counter)
        for each in due:
            self.add(each)

    def add(self, due: _Due) -> None:
        for id_ in due.ids or {None}:
            self._by_id[id_][due] += 1

    def settle(self, answer: _Answer) -> bool:
        """Take away what this answers, of several what it can only be the answer to; False when there is nothing."""
        fitting = [due for id_ in (answer.id, None) for due in self._by_id[id_] if _fits(answer, due)]
        if not fitting:
            return False
        settled = min(fitting, key=lambda due: (due.ids is None, due.code is None, len(due.ids or ())))
        for id_ in settled.ids or {None}:
            self._by_id[id_] -= Counter([settled])
        return True

    @property
    def left(self) -> set[_Due]:
        return {due for dues in self._by_id.values() for due in dues}


def broken_rules(log: Sequence[Line], *, whole: bool = True) -> list[str]:
    """What in a log is against the specification; when it is not `whole`, answers may be missing at its end."""
    found: list[str] = []
    single = _Open()
    batches: list[list[_Due]] = []
    for number, line in enumerate(log):
        if line.sent:
            due = _due(line.data)
            if isinstance(due, list):
                batches.append(due)
            elif due is not None:
                single.add(due)
        else:
            found += (f"line {number}: {fault}" for fault in _received(line.data, single, batches))
    if whole:
        found += (f"a request is not answered: {due}" for due in single.left)
        found += (f"a batch is not answered: {batch}" for batch in batches)
    return found


def _due(data: bytes) -> _Due | list[_Due] | None:
    """What must come back for a line; None for nothing."""
    if len(data) > LONGEST:
        return _Due(frozenset({"null"}), INVALID_REQUEST)
    if not data.strip():
        return None
    try:
        value = parse(data)
    except NotJsonError:
        return _Due(frozenset({"null"}), PARSE_ERROR)
    except UnclearError:
        return _Due(None, None)
    if value.kind != "array":
        return _of_request(value)
    if not value.items or len(value.items) > LARGEST_BATCH:
        return _Due(frozenset({"null"}), INVALID_REQUEST)
    return [due for item in value.items if (due := _of_request(item)) is not None] or None


def _of_request(value: Value) -> _Due | None:
    id_ = value.members.get("id")
    known = {id_.text} if id_ is not None and id_.kind in _ID_KINDS else set()
    version, method, params = (value.members.get(name) for name in ("jsonrpc", "method", "params"))
    valid = (
        version is not None
        and _string(version) == "2.0"
        and method is not None
        and method.kind == "string"
        and (params is None or params.kind in ("object", "array"))
        and (id_ is None or bool(known))
    )
    if not valid:
        return _Due(frozenset({"null"} | known), INVALID_REQUEST)
    return _Due(frozenset(known), None) if known else None


def _received(data: bytes, single: _Open, batches: list[list[_Due]]) -> Iterator[str]:
    try:
        value = parse(data)
    except NotJsonError as error:
        yield f"not one JSON value in UTF-8: {error}"
        return
    if value.kind == "array":
        yield from _batch_answer(value, batches)
    elif value.kind != "object":
        yield f"a {value.kind} is no message"
    elif "method" in value.members:
        yield from _notification(value.members)
    else:
        yield from _shape(value.members)
        if (answer := _answer(value.members)) is not None and not single.settle(answer):
            yield f"an answer to nothing that is open: {answer}"


def _notification(members: dict[str, Value]) -> Iterator[str]:
    yield from _version(members)
    if "id" in members:
        yield "a notification has an id"
    if strange := members.keys() - {"jsonrpc", "method", "params", "id"}:
        yield f"a notification has members of its own: {sorted(strange)}"
    name = _string(members["method"])
    if name is None:
        yield "method is no string"
    elif name.startswith("rpc."):
        yield "the names rpc.* are reserved"
    if members.get("params", Value("object", "", {}, ())).kind not in ("object", "array"):
        yield "params are neither object nor array"


def _batch_answer(value: Value, batches: list[list[_Due]]) -> Iterator[str]:
    if not value.items:
        yield "an empty array is no answer"
    answers = []
    for item in value.items:
        if item.kind != "object":
            yield "what is in the answer to a batch is no object"
            return
        yield from _shape(item.members)
        answers += [answer] if (answer := _answer(item.members)) is not None else []
    for batch in batches:
        open_ = _Open(batch)
        if len(answers) == len(batch) and all(open_.settle(answer) for answer in answers):
            batches.remove(batch)
            return
    yield f"an answer to no batch that is open: {answers}"


def _shape(members: dict[str, Value]) -> Iterator[str]:
    """What is wrong with an answer by itself."""
    yield from _version(members)
    if "id" not in members:
        yield "an answer has no id"
    elif members["id"].kind not in _ID_KINDS:
        yield "an id is neither string, number nor null"
    if ("result" in members) == ("error" in members):
        yield "an answer has not exactly one of result and error"
    if strange := members.keys() - {"jsonrpc", "id", "result", "error"}:
        yield f"an answer has members of its own: {sorted(strange)}"
    if "error" in members:
        yield from _error(members["error"])


def _error(error: Value) -> Iterator[str]:
    if error.kind != "object":
        yield "an error is no object"
        return
    code, message = (error.members.get(name) for name in ("code", "message"))
    if code is None or not _INTEGER.fullmatch(code.text):
        yield "the code of an error is no integer"
    elif int(code.text) in _RESERVED and int(code.text) not in _DEFINED:
        yield f"the code {code.text} is reserved"
    if message is None or message.kind != "string":
        yield "the message of an error is no string"
    if strange := error.members.keys() - {"code", "message", "data"}:
        yield f"an error has members of its own: {sorted(strange)}"


def _version(members: dict[str, Value]) -> Iterator[str]:
    if "jsonrpc" not in members or _string(members["jsonrpc"]) != "2.0":
        yield 'jsonrpc is not "2.0"'


def _answer(members: dict[str, Value]) -> _Answer | None:
    if "id" not in members:
        return None
    error = members.get("error")
    code = error.members.get("code") if error is not None else None
    number = int(code.text) if code is not None and _INTEGER.fullmatch(code.text) else None
    return _Answer(members["id"].text, number)


def _fits(answer: _Answer, due: _Due) -> bool:
    if due.ids is None:
        return True
    # What could be read as a request was not a parse error.
    return answer.id in due.ids and (answer.code == due.code or (due.code is None and answer.code != PARSE_ERROR))


def _string(value: Value) -> str | None:
    return str(json.loads(value.text)) if value.kind == "string" else None
