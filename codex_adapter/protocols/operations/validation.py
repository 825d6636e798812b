"""Read operations from JSON, and check the rules of their members (O2, O3)."""

from __future__ import annotations

from typing import Final, Generic, Literal, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from codex_adapter.protocols.operations.json_text import HALF_OF_A_PAIR, NotJSON, decode_field, members, string, to_json
from codex_adapter.protocols.operations.operations import (
    MOST_FILE_BYTES,
    MOST_PATH_CHARACTERS,
    OPERATIONS,
    CreateFileOperation,
    MessageOperation,
    Operation,
    OperationType,
    ShellOperation,
)
from codex_adapter.strict_decode import FieldError, read_struct

__all__ = [
    "Invalid",
    "InvalidOperationError",
    "Valid",
    "as_json",
    "parse_operation",
    "read_operation",
    "validate_operation",
]

_T = TypeVar("_T")
_TYPES: Final = f"must be one of {', '.join(OPERATIONS)}"
_NAMES: Final = ("type", *dict.fromkeys(name for kind in OPERATIONS.values() for name in kind.__struct_encode_fields__))
_NONE: Final = Raw(b"null")
_BASE64: Final = "must be base64 in the standard alphabet with padding, because encoding is base64"
_TOO_LARGE: Final = f"must be at most {MOST_FILE_BYTES} bytes (10 MiB) once decoded. Create a larger file with shell"


class InvalidOperationError(ValueError):
    """An operation is invalid. The message names the member and its rule, and never quotes (O3)."""


class Valid(msgspec.Struct, Generic[_T], frozen=True):
    """A valid result."""

    data: _T
    success: Literal[True] = True


class Invalid(msgspec.Struct, frozen=True, kw_only=True):
    """An invalid result: `error` names the member and its rule, and never quotes.

    `id` and `operation_type` are set if they are valid themselves (O3).
    """

    error: str
    id: str | UnsetType = UNSET
    operation_type: OperationType | UnsetType = UNSET
    success: Literal[False] = False


def validate_operation(value: object) -> Valid[Operation] | Invalid:
    """Validate an operation, as JSON or decoded. Return it, or its error (O3)."""
    try:
        operation = read_operation(as_json(value))
    except NotJSON as error:
        return Invalid(error=f"an operation {error}")
    return operation if isinstance(operation, Invalid) else Valid(operation)


def parse_operation(value: object) -> Operation:
    """Return an operation from JSON, or from decoded JSON. Raises InvalidOperationError (O3)."""
    result = validate_operation(value)
    if isinstance(result, Invalid):
        raise InvalidOperationError(result.error)
    return result.data


def read_operation(text: bytes | Raw) -> Operation | Invalid:
    """Return an operation from its JSON, or its error. The content of a file is checked and stays a view (O2, O3)."""
    try:
        parts = members(text, _NAMES)
        if parts is None:
            return Invalid(error=f"an operation must be an object; its type {_TYPES}")
    except NotJSON as error:
        return Invalid(error=f"an operation {error}")
    found_id = string(parts.get("id", _NONE))
    id_ = UNSET if found_id is None else found_id
    kind = OPERATIONS.get(string(parts.get("type", _NONE)) or "")
    if kind is None:
        return Invalid(error=f"type: {_TYPES}" if "type" in parts else f"type: is missing; it {_TYPES}", id=id_)
    try:
        operation = read_struct(kind, parts, decode=decode_field)
        _check(operation)
    except FieldError as error:
        return Invalid(error=str(error), id=id_, operation_type=cast(OperationType, kind.__struct_config__.tag))
    return operation


def as_json(value: object) -> bytes | Raw:
    """Return JSON: text as it is, any other value encoded. Raises NotJSON."""
    if isinstance(value, bytes | Raw):
        return value
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise NotJSON("must be JSON in UTF-8") from None
    return to_json(value)


def _check(operation: Operation) -> None:
    """Check the rules that types do not express. Raises FieldError."""
    if isinstance(operation, CreateFileOperation):
        _check_path("path", operation.path)
        _check_content(operation)
    elif isinstance(operation, ShellOperation):
        _check_path("cwd", operation.cwd)
    elif not isinstance(operation, MessageOperation):
        _check_path("path", operation.path)


def _check_path(name: str, path: str) -> None:
    if path.startswith("/"):
        raise FieldError(name, "must not start with '/'. Use a path below the workspace's root")
    if ".." in path:
        raise FieldError(name, "must not contain '..'. Use a path below the workspace's root")
    if "\0" in path:
        raise FieldError(name, "must not contain the character NUL. Leave it out")
    if len(path.encode("utf-16-le")) > 2 * MOST_PATH_CHARACTERS:
        raise FieldError(name, f"must be at most {MOST_PATH_CHARACTERS} characters, as UTF-16 counts them. Shorten it")


def _check_content(operation: CreateFileOperation) -> None:
    size = 0
    try:
        for piece in operation.pieces():
            size += len(piece)
            if size > MOST_FILE_BYTES:
                break
    except UnicodeDecodeError:
        raise FieldError("content", "must be UTF-8") from None
    except msgspec.DecodeError:  # in valid JSON, the only cause is half a surrogate pair
        raise FieldError("content", HALF_OF_A_PAIR) from None
    except ValueError:
        raise FieldError("content", _BASE64) from None
    if size > MOST_FILE_BYTES:
        raise FieldError("content", _TOO_LARGE)
