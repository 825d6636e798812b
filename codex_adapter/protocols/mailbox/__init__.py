"""Exchange text files with a model that works on a task in a workspace (I).

A person or a program takes the outbox files to the model, and puts its answers into the inbox. `begin_session` begins
a session, `open_session` opens an existing one, and `MailboxWorker` runs it. An `Answerer` answers outboxes in place of
a person.
"""

from __future__ import annotations

from codex_adapter.protocols.mailbox.answerers import AgentAnswerer, Answerer, AnswerFailed, CommandAnswerer
from codex_adapter.protocols.mailbox.events import (
    AnswerAccepted,
    CommandFinished,
    MailboxEvent,
    ModelMessage,
    Notice,
    Observer,
    OutboxWritten,
    SessionCompleted,
    Waiting,
)
from codex_adapter.protocols.mailbox.layout import MailboxError, MailboxLayout, MailboxRefusal
from codex_adapter.protocols.mailbox.messages import CommandResult, SessionState
from codex_adapter.protocols.mailbox.opening import begin_session, end_session, open_session, sessions, workspace_of
from codex_adapter.protocols.mailbox.session import Session
from codex_adapter.protocols.mailbox.work import End, MailboxWorker

__all__ = [
    "AgentAnswerer",
    "AnswerAccepted",
    "AnswerFailed",
    "Answerer",
    "CommandAnswerer",
    "CommandFinished",
    "CommandResult",
    "End",
    "MailboxError",
    "MailboxEvent",
    "MailboxLayout",
    "MailboxRefusal",
    "MailboxWorker",
    "ModelMessage",
    "Notice",
    "Observer",
    "OutboxWritten",
    "Session",
    "SessionCompleted",
    "SessionState",
    "Waiting",
    "begin_session",
    "end_session",
    "open_session",
    "sessions",
    "workspace_of",
]
