"""What happens in a session, told to whoever looks on (I11, I16)."""

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
    """An outbox is there to be carried to the model."""

    path: str


class Waiting(_Happening, frozen=True, tag="waiting"):
    """Nothing goes on until an answer lies in `inbox`; `answering` is who of ours is asked for one."""

    inbox: str
    answering: str | None = None


class AnswerAccepted(_Happening, frozen=True, tag="answer"):
    """An answer was taken up; it is kept as `path`."""

    name: str
    path: str


class CommandFinished(_Happening, frozen=True, tag="result"):
    """What came of a command; `before` where that was in an earlier life."""

    result: CommandResult
    before: bool = False


class ModelMessage(_Happening, frozen=True, tag="message"):
    """The model has words for the user."""

    text: str


class SessionCompleted(_Happening, frozen=True, tag="done"):
    """The task is complete, with the model's summary."""

    summary: str


class Notice(_Happening, frozen=True, tag="remark"):
    """Something that the user should know, in a sentence."""

    text: str


MailboxEvent: TypeAlias = (
    OutboxWritten | Waiting | AnswerAccepted | CommandFinished | ModelMessage | SessionCompleted | Notice
)
Observer: TypeAlias = Callable[[MailboxEvent], Awaitable[object]]
