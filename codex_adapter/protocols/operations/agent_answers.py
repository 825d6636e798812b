"""Read an agent's last message as operations (O15)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from codex_adapter.protocols.operations.messages import validate_operations_message
from codex_adapter.protocols.operations.operations import MessageOperation
from codex_adapter.protocols.operations.strict_schema import without_nulls
from codex_adapter.protocols.operations.validation import Invalid, Valid

__all__ = ["AgentOperations", "parse_agent_message"]


class AgentOperations(NamedTuple):
    """An operations message on one line. `last` is true if it has only messages for the user."""

    message: bytes
    last: bool


def parse_agent_message(text: str) -> AgentOperations | Invalid:
    """Return an agent's last message as operations without its nulls, or its error.

    Any other message of the protocol, such as a decision on a pending operation, is invalid: an agent cannot decide.
    """
    if not text:
        return Invalid(error="the message is missing or too long. Send a shorter message")
    message = without_nulls(text.encode())
    found = validate_operations_message(message)
    if isinstance(found, Invalid):
        return found
    last = all(isinstance(read, Valid) and isinstance(read.data, MessageOperation) for read in found.data)
    return AgentOperations(_on_one_line(message), last)


def _on_one_line(message: bytes) -> bytes:
    try:
        return msgspec.json.format(message, indent=-1)
    except msgspec.DecodeError:
        # It has half of a surrogate pair. `without_nulls` has encoded it on one line.
        return message
