"""What happens in a session, told to whoever looks on (I11, I16)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from codex_adapter.protocols.mailbox.messages import CommandResult

__all__ = ["Completed", "Happening", "Observer", "Outbox", "Remark", "Said", "TakenUp", "Waiting", "WhatCame"]


class _Happening(msgspec.Struct, frozen=True, rename="camel", tag_field="type", omit_defaults=True):
    session: str
    sequence: int


class Outbox(_Happening, frozen=True, tag="outbox"):
    """An outbox is there to be carried to the model."""

    path: str


class Waiting(_Happening, frozen=True, tag="waiting"):
    """Nothing goes on until an answer lies in `inbox`; `answering` is who of ours is asked for one."""

    inbox: str
    answering: str | None = None


class TakenUp(_Happening, frozen=True, tag="answer"):
    """An answer was taken up; it is kept as `path`."""

    name: str
    path: str


class WhatCame(_Happening, frozen=True, tag="result"):
    """What came of a command; `before` where that was in an earlier life."""

    result: CommandResult
    before: bool = False


class Said(_Happening, frozen=True, tag="message"):
    """The model has words for the user."""

    text: str


class Completed(_Happening, frozen=True, tag="done"):
    """The task is complete, with the model's summary."""

    summary: str


class Remark(_Happening, frozen=True, tag="remark"):
    """Something that the user should know, in a sentence."""

    text: str


Happening: TypeAlias = Outbox | Waiting | TakenUp | WhatCame | Said | Completed | Remark
Observer: TypeAlias = Callable[[Happening], Awaitable[object]]
