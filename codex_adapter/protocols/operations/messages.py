"""Messages out of JSON: what an agent and a supervisor send, and what the runtime answers (O1, O5)."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Raw

from codex_adapter.protocols.operations.fields import decode_field
from codex_adapter.protocols.operations.json_text import NotJSON, elements, members, string
from codex_adapter.protocols.operations.operations import Operation
from codex_adapter.protocols.operations.protocol import (
    PROTOCOL_VERSION,
    Approval,
    EventsMessage,
    OperationsMessage,
    UserMessage,
)
from codex_adapter.protocols.operations.text_pieces import Text, check_utf8
from codex_adapter.protocols.operations.validation import Invalid, Valid, as_json, read_operation
from codex_adapter.strict_decode import FieldError, read_struct

__all__ = [
    "MOST_OPERATIONS",
    "InvalidMessageError",
    "Message",
    "read_events_message",
    "read_message",
    "validate_operations_message",
]

_S = TypeVar("_S", bound=msgspec.Struct)
Message: TypeAlias = OperationsMessage | Approval | UserMessage
"""What the runtime is sent: operations, a decision, or words of the user."""

MOST_OPERATIONS: Final = 10_000
"""How many operations a message can have; what a runtime keeps of one is more than the message has of it."""
_NAMES: Final = ("protocolVersion", "operations", "approval", "type", "content")
_OPERATIONS: Final = f"must be a list of at most {MOST_OPERATIONS} operations"
_NONE: Final = Raw(b"null")
_VERSION: Final = f'"{PROTOCOL_VERSION}", the version that is spoken here'


class InvalidMessageError(ValueError):
    """What was given is no message; the text of the error names the member and its rule, and never quotes (O1)."""


def read_message(line: bytes | bytearray) -> Message:
    """The message on a line, whose operations are views of it that nobody has looked into. Raises InvalidMessageError.

    An object with neither `protocolVersion` nor `operations` is an approval if it has `approval`, and words of the user
    if its `type` is `userMessage`. The line must stay as it is (O1, O5).
    """
    try:
        return _message(line)
    except NotJSON as error:
        raise InvalidMessageError(f"a message {error}") from None


def validate_operations_message(given: object) -> Valid[list[Valid[Operation] | Invalid]] | Invalid:
    """A message as JSON text, or decoded: its operations in their places, each right or wrong by itself (O1, O3)."""
    try:
        message = _operations(_parts(as_json(given)))
    except NotJSON as error:
        return Invalid(error=f"a message {error}")
    except InvalidMessageError as error:
        return Invalid(error=str(error))
    read = map(read_operation, message.operations)
    return Valid([operation if isinstance(operation, Invalid) else Valid(operation) for operation in read])


def read_events_message(line: bytes) -> EventsMessage:
    """The runtime's answer. Raises InvalidMessageError (O4)."""
    try:
        return _events.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InvalidMessageError(f"an events message must have the members of version {PROTOCOL_VERSION}") from None


def _message(line: bytes | bytearray) -> Message:
    parts = _parts(line)
    if not parts.keys() & {"protocolVersion", "operations"}:
        if "approval" in parts:
            return _read(Approval, _approval(parts["approval"]), "approval.")
        if string(parts.get("type", _NONE)) == "userMessage":
            return _read(UserMessage, parts)
    return _operations(parts)


def _parts(line: bytes | bytearray | Raw) -> dict[str, Raw]:
    try:
        check_utf8(line)
    except UnicodeDecodeError:
        raise NotJSON("must be JSON in UTF-8") from None
    parts = members(line, _NAMES)
    if parts is None:
        raise InvalidMessageError("a message must be an object with protocolVersion and operations")
    return parts


def _operations(parts: dict[str, Raw]) -> OperationsMessage:
    if "protocolVersion" not in parts:
        raise InvalidMessageError(f"protocolVersion: is missing; it must be {_VERSION}")
    if string(parts["protocolVersion"]) != PROTOCOL_VERSION:
        raise InvalidMessageError(f"protocolVersion: must be {_VERSION}")
    if "operations" not in parts:
        raise InvalidMessageError(f"operations: is missing; it {_OPERATIONS}")
    operations = elements(parts["operations"], MOST_OPERATIONS)
    if operations is None:
        raise InvalidMessageError(f"operations: {_OPERATIONS}")
    return OperationsMessage(tuple(operations))


def _approval(given: Raw) -> dict[str, Raw]:
    parts = members(given, Approval.__struct_encode_fields__)
    if parts is None:
        raise InvalidMessageError("approval: must be an object")
    return parts


def _read(kind: type[_S], parts: dict[str, Raw], prefix: str = "") -> _S:
    try:
        return read_struct(kind, parts, prefix, decode_field)
    except FieldError as error:
        raise InvalidMessageError(str(error)) from None


def _text_of(kind: type[Any], given: Any) -> Any:
    if kind is Text and isinstance(given, str):
        return Text.of(given)
    raise TypeError


_events = msgspec.json.Decoder(EventsMessage, dec_hook=_text_of)
