"""The mailbox: a model works on a task by text files that a person or a program takes to it and back (I).

Begin a session with `begin_session`, or open one with `open_session`, and have `MailboxWorker` run it. An `Answerer`
answers outboxes in place of a person.
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
