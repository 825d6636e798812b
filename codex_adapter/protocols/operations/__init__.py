"""Operations on a workspace: an agent's list of them, carried out in order and answered with events (O).

Here is what reads and checks messages; their types are in `codex_adapter.protocols.operations.protocol`.
"""

from __future__ import annotations

from codex_adapter.protocols.operations.encoding import encode_events_message
from codex_adapter.protocols.operations.messages import (
    InvalidMessageError,
    read_events_message,
    read_message,
    validate_operations_message,
)
from codex_adapter.protocols.operations.schema import events_schema, operations_schema
from codex_adapter.protocols.operations.strict_schema import agent_schema, without_nulls
from codex_adapter.protocols.operations.validation import (
    Invalid,
    InvalidOperationError,
    Valid,
    parse_operation,
    validate_operation,
)

__all__ = [
    "Invalid",
    "InvalidMessageError",
    "InvalidOperationError",
    "Valid",
    "agent_schema",
    "encode_events_message",
    "events_schema",
    "operations_schema",
    "parse_operation",
    "read_events_message",
    "read_message",
    "validate_operation",
    "validate_operations_message",
    "without_nulls",
]
