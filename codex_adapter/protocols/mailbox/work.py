"""Work in a session: write outboxes and execute answers until the task is complete (I11, I16, I17)."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path
from typing import Final, Literal, TypeAlias

import trio

from codex_adapter.file_systems import work_through
from codex_adapter.protocols.mailbox.answerers import Answerer, AnswerFailed
from codex_adapter.protocols.mailbox.events import Notice, Observer, Waiting
from codex_adapter.protocols.mailbox.inbox import Inbox, InboxState
from codex_adapter.protocols.mailbox.layout import MailboxLayout, path_exists, path_text, write_whole
from codex_adapter.protocols.mailbox.messages import ANSWER
from codex_adapter.protocols.mailbox.session import Session
from codex_adapter.protocols.mailbox.watching import Watch, watched

__all__ = ["End", "MailboxWorker"]

_MOST_EMPTY: Final = 3
"""The limit of answers in a row without a command. More of them would only cost money."""

End: TypeAlias = Literal["complete", "carried_out", "nothing", "stopped"]
"""The end of the work: the task is complete, one round was executed, no answer arrived, or it was stopped."""


class MailboxWorker:
    """The work of one process in a session. If the inbox has no answer, `answerer` is asked for one."""

    def __init__(
        self, layout: MailboxLayout, session: Session, observe: Observer, answerer: Answerer | None = None
    ) -> None:
        self._layout = layout
        self._session = session
        self._observe = observe
        self._answerer = answerer
        self._inbox = Inbox(layout.inbox)
        self._waiting = trio.CancelScope()
        self._stopped = False
        self._reported: set[str] = set()
        self._empty = 0

    def cancel(self) -> None:
        """Kill the current command, stop the answerer with a signal, and execute nothing more."""
        self._stop()
        if self._answerer is not None:
            self._answerer.cancel()

    def kill(self) -> None:
        """Kill the current command and the answerer, and execute nothing more."""
        self._stop()
        if self._answerer is not None:
            self._answerer.kill()

    async def run(self, *, once: bool = False) -> End:
        """Work until the task is complete. With `once`, work for one round.

        With `once`, wait only for an answer that has begun to arrive. Raises `MailboxError`, and `AnswerFailed` if the
        answerer has no answer.
        """
        if self._session.state.is_complete:
            return "complete"
        with watched(self._layout.inbox) as watch:
            await self._session.write_outbox()
            while not self._stopped:
                seen = await work_through(self._inbox.scan)
                for name in seen.unreadable:
                    await self._notify(f"{path_text(name)} cannot be read. Change its permissions, or save it again")
                for name in seen.others:
                    await self._notify(
                        f"{path_text(name)} is not an answer. Save it as a file, not a link, with a name in .txt"
                    )
                if seen.complete or await self._session.has_accepted():
                    if not await self._session.execute(seen.complete):
                        break
                    if self._session.state.is_complete:
                        return "complete"
                    self._count_empty()
                    if once and not self._stopped:
                        return "carried_out"
                elif seen.partial is None and self._answerer is not None:
                    await self._request_answer(self._answerer)
                elif seen.partial is None and once:
                    return "nothing"
                else:
                    await self._wait(seen, watch)
        return "stopped"

    async def _request_answer(self, answerer: Answerer) -> None:
        """Ask for the answer to the last outbox, and write it into the inbox."""
        state = self._session.state
        await self._report_waiting()
        if self._stopped:
            return
        if self._empty == _MOST_EMPTY:
            raise AnswerFailed(f"{_MOST_EMPTY} answers in a row had no valid command")
        journal = self._layout.journal_file(state.session_id, state.sequence_number)
        answer = await answerer.answer(self._session.outbox, journal, self._session.workspace)
        if not self._stopped:
            await work_through(self._write_answer, answer)

    def _write_answer(self, answer: bytes) -> None:
        write_whole(self._free_path(self._session.outbox.stem), answer)

    def _count_empty(self) -> None:
        """Count the rounds in a row that have only errors of whole answers."""
        results = self._session.state.last_results
        self._empty = self._empty + 1 if all(result.command == ANSWER for result in results) else 0

    def _free_path(self, stem: str) -> Path:
        """Return an unused path for an answer."""
        names = chain([f"{stem}.txt"], (f"{stem} ({number}).txt" for number in count(2)))
        return next(path for path in map(self._layout.inbox.joinpath, names) if not path_exists(path))

    async def _wait(self, seen: InboxState, watch: Watch) -> None:
        await self._report_waiting()
        if seen.open_elsewhere and seen.partial is not None:
            await self._notify(
                f"{path_text(seen.partial)} is still open for writing in another program. Close it there"
            )
        with trio.CancelScope() as self._waiting:
            if self._stopped:
                self._waiting.cancel()
            await watch.changed(seen.retry_in)

    async def _report_waiting(self) -> None:
        """Report that the session waits, once for each outbox."""
        state = self._session.state
        key = str(state.sequence_number)
        if key not in self._reported:
            self._reported.add(key)
            kind = None if self._answerer is None else self._answerer.kind
            inbox = path_text(str(self._layout.inbox))
            await self._observe(Waiting(state.session_id, state.sequence_number, inbox, kind))

    async def _notify(self, text: str) -> None:
        """Report a notice once."""
        if text not in self._reported:
            self._reported.add(text)
            state = self._session.state
            await self._observe(Notice(state.session_id, state.sequence_number, text))

    def _stop(self) -> None:
        self._stopped = True
        self._session.stop()
        self._waiting.cancel()
