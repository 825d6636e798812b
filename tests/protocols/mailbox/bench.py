"""Provide a mailbox with a workspace, and deliver answers to it."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import trio

from codex_adapter.agents import known_places
from codex_adapter.protocols.mailbox.events import MailboxEvent
from codex_adapter.protocols.mailbox.layout import MailboxLayout
from codex_adapter.protocols.mailbox.messages import CommandResult
from codex_adapter.protocols.mailbox.opening import begin_session, open_session
from codex_adapter.protocols.mailbox.session import Session

__all__ = ["Bench", "names_in"]

_H = TypeVar("_H", bound=MailboxEvent)


def names_in(directory: Path) -> list[str]:
    """What is in a directory."""
    return sorted(path.name for path in directory.iterdir())


class Bench:
    """A directory with both; what happens is kept in `told`."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "workspace"
        self.root.mkdir()
        self.places = MailboxLayout(directory / "mailbox")
        self.told: list[MailboxEvent] = []
        self._age = 10_000.0

    @asynccontextmanager
    async def begin(self, task: str = "Make it work") -> AsyncIterator[Session]:
        """A new session, with its first outbox."""
        async with AsyncExitStack() as opened:
            session = opened.enter_context(
                begin_session(self.places, self.root, task, self.observe, agents=known_places(), sandbox=None)
            )
            await session.write_outbox()
            yield session

    @asynccontextmanager
    async def resume(self) -> AsyncIterator[Session]:
        """The session in another life."""
        async with AsyncExitStack() as opened:
            yield opened.enter_context(
                open_session(self.places, None, self.observe, agents=known_places(), sandbox=None)
            )

    async def observe(self, happening: MailboxEvent) -> None:
        """As `Observer`."""
        await trio.lowlevel.checkpoint()
        self.told.append(happening)

    def of(self, kind: type[_H]) -> list[_H]:
        """What happened of one kind."""
        return [happening for happening in self.told if isinstance(happening, kind)]

    def put(self, text: str, name: str = "answer.txt") -> Path:
        """An answer in the inbox, that rests already."""
        path = self.places.inbox / name
        path.write_bytes(text.encode())
        self._age -= 1
        os.utime(path, (time.time() - self._age,) * 2)
        return path

    def write(self, path: str, content: str | bytes) -> None:
        """A file of the workspace."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(content.encode() if isinstance(content, str) else content)

    def content(self, path: str) -> str:
        """What a file of the workspace has."""
        return (self.root / path).read_bytes().decode()

    async def answered(self, session: Session, *texts: str) -> list[CommandResult]:
        """What came of these answers, carried out in one round."""
        paths = [self.put(text, f"{number}.txt") for number, text in enumerate(texts)]
        assert await session.execute(paths)
        return list(session.state.last_results)
