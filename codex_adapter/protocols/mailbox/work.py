"""Work in a session: outboxes out, answers in, until the task is complete or nothing more comes (I11, I16, I17)."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path
from typing import Final, Literal, TypeAlias

import trio

from codex_adapter.protocols.mailbox.answerers import Answerer, AnswerFailed
from codex_adapter.protocols.mailbox.events import Notice, Observer, Waiting
from codex_adapter.protocols.mailbox.inbox import Inbox, InboxState
from codex_adapter.protocols.mailbox.layout import MailboxLayout, is_there, path_text, write_whole
from codex_adapter.protocols.mailbox.messages import ANSWER
from codex_adapter.protocols.mailbox.session import Session
from codex_adapter.protocols.mailbox.watching import Watch, watched

__all__ = ["End", "MailboxWorker"]

_MOST_EMPTY: Final = 3
"""Answers of ours without any command: whoever gave them would go on so, and be paid for it."""

End: TypeAlias = Literal["complete", "carried_out", "nothing", "stopped"]
"""How work came to rest: the task is complete, one round was carried out, no answer was there, or it was stopped."""


class MailboxWorker:
    """One process's work in a session; `answerer` is asked where no answer lies in the inbox."""

    def __init__(
        self, layout: MailboxLayout, session: Session, observe: Observer, answerer: Answerer | None = None
    ) -> None:
        self._layout = layout
        self._session = session
        self._observe = observe
        self._answerer = answerer
        self._inbox = Inbox(layout.inbox)
        self._resting = trio.CancelScope()
        self._stopped = False
        self._told: set[str] = set()
        self._empty = 0

    def cancel(self) -> None:
        """Kill the command under way, end what answers in order, and carry out nothing more."""
        self._stop()
        if self._answerer is not None:
            self._answerer.cancel()

    def kill(self) -> None:
        """As `cancel`, but what answers is not asked first."""
        self._stop()
        if self._answerer is not None:
            self._answerer.kill()

    async def run(self, *, once: bool = False) -> End:
        """Work to the end; with `once` for one round, and without waiting for an answer that nobody has begun to bring.

        Raises `MailboxError`, and `AnswerFailed` where one of ours was to answer and did not.
        """
        if self._session.state.is_complete:
            return "complete"
        with watched(self._layout.inbox) as watch:
            await self._session.render_outbox()
            while not self._stopped:
                seen = self._inbox.scan()
                for name in seen.unreadable:
                    await self._remark(f"{path_text(name)} cannot be read; change its permissions, or save it anew")
                for name in seen.others:
                    await self._remark(
                        f"{path_text(name)} is no answer: those are files, not links, with names in .txt"
                    )
                if seen.complete or self._session.has_accepted:
                    if not await self._session.execute(seen.complete):
                        break
                    if self._session.state.is_complete:
                        return "complete"
                    self._count_empty()
                    if once and not self._stopped:
                        return "carried_out"
                elif seen.partial is None and self._answerer is not None:
                    await self._ask(self._answerer)
                elif seen.partial is None and once:
                    return "nothing"
                else:
                    await self._wait(seen, watch)
        return "stopped"

    async def _ask(self, answerer: Answerer) -> None:
        """Have the last outbox answered, and put the answer into the inbox."""
        state = self._session.state
        await self._tell_waiting()
        if self._stopped:
            return
        if self._empty == _MOST_EMPTY:
            raise AnswerFailed(f"{_MOST_EMPTY} answers in a row had no command that could be read")
        journal = self._layout.journal_file(state.session_id, state.sequence_number)
        answer = await answerer.answer(self._session.outbox, journal, self._session.workspace)
        if not self._stopped:
            write_whole(self._free(self._session.outbox.stem), answer)

    def _count_empty(self) -> None:
        """How many rounds in a row came to nothing but errors of whole answers."""
        results = self._session.state.last_results
        self._empty = self._empty + 1 if all(result.command == ANSWER for result in results) else 0

    def _free(self, stem: str) -> Path:
        """Where an answer can be put over nothing that somebody else has brought meanwhile."""
        names = chain([f"{stem}.txt"], (f"{stem} ({number}).txt" for number in count(2)))
        return next(path for path in map(self._layout.inbox.joinpath, names) if not is_there(path))

    async def _wait(self, seen: InboxState, watch: Watch) -> None:
        await self._tell_waiting()
        if seen.open_elsewhere and seen.partial is not None:
            await self._remark(
                f"{path_text(seen.partial)} is still open for writing in another program; close it there"
            )
        with trio.CancelScope() as self._resting:
            if self._stopped:
                self._resting.cancel()
            await watch.changed(seen.retry_in)

    async def _tell_waiting(self) -> None:
        """Once for each outbox."""
        state = self._session.state
        key = str(state.sequence_number)
        if key not in self._told:
            self._told.add(key)
            kind = None if self._answerer is None else self._answerer.kind
            inbox = path_text(str(self._layout.inbox))
            await self._observe(Waiting(state.session_id, state.sequence_number, inbox, kind))

    async def _remark(self, text: str) -> None:
        """Once for each remark."""
        if text not in self._told:
            self._told.add(text)
            state = self._session.state
            await self._observe(Notice(state.session_id, state.sequence_number, text))

    def _stop(self) -> None:
        self._stopped = True
        self._session.stop()
        self._resting.cancel()
