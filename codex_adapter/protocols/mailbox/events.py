"""Define the events of a session that an observer receives (I11, I16)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from codex_adapter.protocols.mailbox.messages import CommandResult

__all__ = [
    "AnswerAccepted",
    "CommandFinished",
    "MailboxEvent",
    "ModelMessage",
    "Notice",
    "Observer",
    "OutboxWritten",
    "SessionCompleted",
    "Waiting",
]


class _SessionEvent(msgspec.Struct, frozen=True, rename="camel", tag_field="type", omit_defaults=True):
    session: str
    sequence: int


class OutboxWritten(_SessionEvent, frozen=True, tag="outbox"):
    """An outbox is ready for the model."""

    path: str


class Waiting(_SessionEvent, frozen=True, tag="waiting"):
    """The session waits for an answer in `inbox`. `answering` is the answerer: an agent kind or `command`, if any."""

    inbox: str
    answering: str | None = None


class AnswerAccepted(_SessionEvent, frozen=True, tag="answer"):
    """An answer was accepted and moved to `path`."""

    name: str
    path: str


class CommandFinished(_SessionEvent, frozen=True, tag="result"):
    """A command has finished. `before` is true if an earlier process executed it."""

    result: CommandResult
    before: bool = False


class ModelMessage(_SessionEvent, frozen=True, tag="message"):
    """The model has a message for the user."""

    text: str


class SessionCompleted(_SessionEvent, frozen=True, tag="done"):
    """The task is complete, with the model's summary."""

    summary: str


class Notice(_SessionEvent, frozen=True, tag="remark"):
    """A notice for the user, in one sentence."""

    text: str


MailboxEvent: TypeAlias = (
    OutboxWritten | Waiting | AnswerAccepted | CommandFinished | ModelMessage | SessionCompleted | Notice
)
Observer: TypeAlias = Callable[[MailboxEvent], Awaitable[object]]
