"""Define the messages of the protocol, and read them from JSON (O1, O5).

No step decodes the content of a file. `read_message` splits a line with `json_text` and leaves each operation as JSON.
`validation.read_operation` splits the operation, and `strict_decode.read_struct` decodes its members. The content of a
file stays a view of the line, which `text_pieces` decodes in pieces. `encoding` encodes events as lines of JSON.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from codex_adapter.protocols.operations.events import OperationEvent
from codex_adapter.protocols.operations.json_text import NotJSON, decode_field, elements, members, string
from codex_adapter.protocols.operations.operations import Operation
from codex_adapter.protocols.operations.text_pieces import Text, check_utf8
from codex_adapter.protocols.operations.validation import Invalid, Valid, as_json, read_operation
from codex_adapter.strict_decode import FieldError, read_struct

__all__ = [
    "MOST_OPERATIONS",
    "PROTOCOL_VERSION",
    "Approval",
    "Decision",
    "EventsMessage",
    "IncomingMessage",
    "InvalidMessageError",
    "OperationsMessage",
    "Status",
    "UserMessage",
    "read_events_message",
    "read_message",
    "validate_operations_message",
]

_S = TypeVar("_S", bound=msgspec.Struct)
PROTOCOL_VERSION: Final = "1.0"

Decision = Literal["approved", "denied"]
"""A person's decision on a pending operation."""

Status = Literal["completed", "awaiting_approval", "error"]
"""The state of a message: complete, at a pending operation, or halted by a failure of the machine."""

_DECISIONS: Final[dict[str, Decision]] = {"approved": "approved", "denied": "denied"}
MOST_OPERATIONS: Final = 10_000
"""The limit of operations in a message. An executor stores more for each one than the message has."""
_NAMES: Final = ("protocolVersion", "operations", "approval", "type", "content")
_OPERATIONS: Final = f"must be a list of at most {MOST_OPERATIONS} operations"
_NONE: Final = Raw(b"null")
_VERSION: Final = f'"{PROTOCOL_VERSION}"'


class OperationsMessage(msgspec.Struct, frozen=True):
    """The operations of an agent, each as JSON that is not decoded."""

    operations: tuple[Raw, ...]


class Approval(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A decision on a pending operation. `run_id`, if set, is that of its batch (O5)."""

    operation_id: Annotated[str, Meta(description="a string, the operationId of approvalRequired")]
    decision: Annotated[Decision, Meta(description='"approved" or "denied"')]
    reason: Annotated[str, Meta(description="a string")] | UnsetType = UNSET
    run_id: (
        Annotated[str, Meta(description="a string, the runId of the events message with approvalRequired")] | UnsetType
    ) = UNSET


class UserMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the user (O5)."""

    content: Annotated[str, Meta(description="a string")]

    @property
    def decision(self) -> Decision | None:
        """The decision, if the message is `approved` or `denied` in any case; else None."""
        return _DECISIONS.get(self.content.strip(" \t\r\n").lower() if self.content.isascii() else "")


class EventsMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The events of the operations of a message, in order."""

    protocol_version: Literal["1.0"]
    run_id: str
    """The id of the batch. Each message with operations gets a new one."""
    status: Status
    """Whether all operations are done, one waits for a decision, or the machine failed."""
    events: list[OperationEvent]
    """One event for each operation, in their order."""


IncomingMessage: TypeAlias = OperationsMessage | Approval | UserMessage
"""A message to an executor: operations, a decision, or a message of the user."""


class InvalidMessageError(ValueError):
    """A message is invalid. The text of the error names the member and its rule, and never quotes (O1)."""


def read_message(line: bytes | bytearray) -> IncomingMessage:
    """Return the message on a line. Its operations are views of the line. Raises InvalidMessageError.

    An object without `protocolVersion` and `operations` is an approval if it has `approval`, and a message of the user
    if its `type` is `userMessage`. The line must not change (O1, O5).
    """
    try:
        return _message(line)
    except NotJSON as error:
        raise InvalidMessageError(f"a message {error}") from None


def validate_operations_message(value: object) -> Valid[list[Valid[Operation] | Invalid]] | Invalid:
    """Validate a message, as JSON or decoded. Return its operations in order, each valid or invalid (O1, O3)."""
    try:
        message = _operations(_parts(as_json(value)))
    except NotJSON as error:
        return Invalid(error=f"a message {error}")
    except InvalidMessageError as error:
        return Invalid(error=str(error))
    read = map(read_operation, message.operations)
    return Valid([operation if isinstance(operation, Invalid) else Valid(operation) for operation in read])


def read_events_message(line: bytes) -> EventsMessage:
    """Return the events message on a line. Raises InvalidMessageError (O4)."""
    try:
        return _events.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InvalidMessageError(f"an events message must have the members of version {PROTOCOL_VERSION}") from None


def _message(line: bytes | bytearray) -> IncomingMessage:
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


def _approval(text: Raw) -> dict[str, Raw]:
    parts = members(text, Approval.__struct_encode_fields__)
    if parts is None:
        raise InvalidMessageError("approval: must be an object")
    return parts


def _read(kind: type[_S], parts: dict[str, Raw], prefix: str = "") -> _S:
    try:
        return read_struct(kind, parts, prefix, decode_field)
    except FieldError as error:
        raise InvalidMessageError(str(error)) from None


def _text_of(kind: type[Any], value: Any) -> Any:
    if kind is Text and isinstance(value, str):
        return Text.of(value)
    raise TypeError


_events = msgspec.json.Decoder(EventsMessage, dec_hook=_text_of)
