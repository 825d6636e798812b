"""Execute the operations of an agent in a workspace, in order, and answer them with events (O).

Open an executor with `open_executor` and a policy from `load_policy`, and pass messages to it. `Server` serves a client
with it. `AgentWork` lets an agent work on a task. The types of operations and events are in `operations`, `events` and
`messages`.
"""

from __future__ import annotations

from codex_adapter.protocols.operations.agent import AgentWork
from codex_adapter.protocols.operations.agent_decisions import DecisionLines, Decisions, PersonDecisions
from codex_adapter.protocols.operations.agent_records import WorkEnd
from codex_adapter.protocols.operations.audit import AuditRecord, read_audit
from codex_adapter.protocols.operations.encoding import encode_events_message
from codex_adapter.protocols.operations.executor import ExecutorReply, OperationExecutor, PendingApproval
from codex_adapter.protocols.operations.files import Preview
from codex_adapter.protocols.operations.messages import (
    Approval,
    EventsMessage,
    InvalidMessageError,
    read_events_message,
    read_message,
    validate_operations_message,
)
from codex_adapter.protocols.operations.opening import open_executor
from codex_adapter.protocols.operations.policy import Policy, PolicyError, load_policy
from codex_adapter.protocols.operations.schema import events_schema, operations_schema
from codex_adapter.protocols.operations.serve import Decide, Server
from codex_adapter.protocols.operations.state_file import StateError
from codex_adapter.protocols.operations.strict_schema import agent_schema, without_nulls
from codex_adapter.protocols.operations.validation import (
    Invalid,
    InvalidOperationError,
    Valid,
    parse_operation,
    validate_operation,
)

__all__ = [
    "AgentWork",
    "Approval",
    "AuditRecord",
    "Decide",
    "DecisionLines",
    "Decisions",
    "EventsMessage",
    "ExecutorReply",
    "Invalid",
    "InvalidMessageError",
    "InvalidOperationError",
    "OperationExecutor",
    "PendingApproval",
    "PersonDecisions",
    "Policy",
    "PolicyError",
    "Preview",
    "Server",
    "StateError",
    "Valid",
    "WorkEnd",
    "agent_schema",
    "encode_events_message",
    "events_schema",
    "load_policy",
    "open_executor",
    "operations_schema",
    "parse_operation",
    "read_audit",
    "read_events_message",
    "read_message",
    "validate_operation",
    "validate_operations_message",
    "without_nulls",
]
