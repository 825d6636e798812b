"""What an agent's last message says as operations (O15)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from codex_adapter.protocols.operations.messages import validate_operations_message
from codex_adapter.protocols.operations.protocol import MessageOperation
from codex_adapter.protocols.operations.strict_schema import without_nulls
from codex_adapter.protocols.operations.validation import Invalid, Valid

__all__ = ["AgentAnswer", "read_agent_answer"]


class AgentAnswer(NamedTuple):
    """An operations message on one line; `last` when it has nothing but words for the user."""

    message: bytes
    last: bool


def read_agent_answer(text: str) -> AgentAnswer | Invalid:
    """An agent's last message as operations, nulls standing for absent members; or what is wrong with it.

    Whatever else a runtime can be sent, as a decision on an operation that waits, is wrong: an agent has no say in it.
    """
    if not text:
        return Invalid(error="a message is missing, or too long to be read; send one, with less in it")
    message = without_nulls(text.encode())
    found = validate_operations_message(message)
    if isinstance(found, Invalid):
        return found
    last = all(isinstance(read, Valid) and isinstance(read.data, MessageOperation) for read in found.data)
    return AgentAnswer(_on_one_line(message), last)


def _on_one_line(message: bytes) -> bytes:
    try:
        return msgspec.json.format(message, indent=-1)
    except msgspec.DecodeError:
        # Half of a surrogate pair is in it, and it was written anew without a line end for that.
        return message
