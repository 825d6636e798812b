"""Define the events of a session, which an observer receives (I11, I16)."""

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


class _Happening(msgspec.Struct, frozen=True, rename="camel", tag_field="type", omit_defaults=True):
    session: str
    sequence: int


class OutboxWritten(_Happening, frozen=True, tag="outbox"):
    """An outbox is ready to be taken to the model."""

    path: str


class Waiting(_Happening, frozen=True, tag="waiting"):
    """The session waits for an answer in `inbox`; `answering` is the agent kind, or `command`, that is asked for it."""

    inbox: str
    answering: str | None = None


class AnswerAccepted(_Happening, frozen=True, tag="answer"):
    """An answer was accepted; it is kept as `path`."""

    name: str
    path: str


class CommandFinished(_Happening, frozen=True, tag="result"):
    """A command has finished; `before` if that was in an earlier process."""

    result: CommandResult
    before: bool = False


class ModelMessage(_Happening, frozen=True, tag="message"):
    """The model has a message for the user."""

    text: str


class SessionCompleted(_Happening, frozen=True, tag="done"):
    """The task is complete, with the model's summary."""

    summary: str


class Notice(_Happening, frozen=True, tag="remark"):
    """A sentence that the user should know."""

    text: str


MailboxEvent: TypeAlias = (
    OutboxWritten | Waiting | AnswerAccepted | CommandFinished | ModelMessage | SessionCompleted | Notice
)
Observer: TypeAlias = Callable[[MailboxEvent], Awaitable[object]]
