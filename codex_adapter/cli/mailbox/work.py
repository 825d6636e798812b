"""Work in a session of a mailbox: show its events, obey signals, and return the exit status (C12)."""

from __future__ import annotations

import argparse
import os
import signal
from typing import Final

import trio

from codex_adapter.cli.mailbox.answerers import report_failure
from codex_adapter.cli.mailbox.clipboard import Clipboard
from codex_adapter.cli.mailbox.output import SessionOutput
from codex_adapter.cli.signals import StopSignals
from codex_adapter.protocols.mailbox.answerers import Answerer, AnswerFailed
from codex_adapter.protocols.mailbox.events import MailboxEvent, Notice, OutboxWritten, Waiting
from codex_adapter.protocols.mailbox.layout import MailboxError, MailboxLayout
from codex_adapter.protocols.mailbox.session import Session
from codex_adapter.protocols.mailbox.work import End, MailboxWorker
from codex_adapter.workspace import Sandbox

__all__ = ["SessionWork"]

_NO_ANSWER: Final = 75
"""EX_TEMPFAIL of sysexits.h: the work continues after a later answer."""
_READER_LEFT: Final = 128 + signal.SIGPIPE
_UNPROTECTED: Final = "Commands run without a sandbox, with all your rights."
_NO_SANDBOX: Final = f"No sandbox works here (see `codex-adapter doctor`). {_UNPROTECTED}"


class SessionWork:
    """The work of `start`, `resume` and `once` in a session, which is opened with `observe`."""

    def __init__(
        self,
        options: argparse.Namespace,
        places: MailboxLayout,
        output: SessionOutput,
        stop: StopSignals,
        *,
        sandbox: Sandbox | None,
        answerer: Answerer | None,
    ) -> None:
        self._options = options
        self._places = places
        self._output = output
        self._stop = stop
        self._sandbox = sandbox
        self._answerer = answerer
        self._clipboard: Clipboard | None = None

    async def observe(self, event: MailboxEvent) -> None:
        """Show an event, and copy an outbox to the clipboard."""
        await self._output.observe(event)
        if isinstance(event, OutboxWritten) and self._clipboard is not None:
            self._clipboard.copy(self._places.outbox_file(event.session, event.sequence))

    async def run(self, session: Session) -> int:
        """Work until the end, and return the exit status. Raise `MailboxError`."""
        if session.state.is_complete:
            await self._remark(session, "The session is already complete.")
            return 0
        end: End = "stopped"
        failure: MailboxError | AnswerFailed | None = None
        work = MailboxWorker(self._places, session, self.observe, self._answerer)
        async with trio.open_nursery() as around:
            around.start_soon(self._output.keep_fresh)
            around.start_soon(self._stop_without_reader, work)
            with self._stop.interrupting():
                async with trio.open_nursery() as copying:
                    if self._options.clipboard:
                        self._clipboard = Clipboard(
                            copying, lambda text: self._remark(session, text), workspace=session.workspace
                        )
                    try:
                        with self._stop.governing(work):
                            end = await self._work(session, work)
                    except (MailboxError, AnswerFailed) as error:
                        failure = error
                    if end == "stopped":
                        copying.cancel_scope.cancel()
            await self._output.end()
            around.cancel_scope.cancel()
        return await self._exit_status(session, end, failure)

    async def _work(self, session: Session, work: MailboxWorker) -> End:
        if self._stop.exit_status is not None:
            work.cancel()
        if self._sandbox is None:
            await self._remark(session, _UNPROTECTED if self._options.no_sandbox else _NO_SANDBOX)
        if self._options.no_wait:
            await session.write_outbox()
            end: End = "nothing"
        else:
            end = await work.run(once=self._options.action == "once")
        if end in ("nothing", "carried_out") and self._answerer is None:
            state = session.state
            inbox = os.fsencode(self._places.inbox).decode(errors="replace")
            await self.observe(Waiting(state.session_id, state.sequence_number, inbox))
        return end

    async def _stop_without_reader(self, work: MailboxWorker) -> None:
        await self._output.wait_reader_closed()
        work.kill()

    async def _exit_status(self, session: Session, end: End, failure: MailboxError | AnswerFailed | None) -> int:
        if isinstance(failure, MailboxError):
            raise failure
        asked_to_stop = self._stop.exit_status is not None
        if isinstance(failure, AnswerFailed) and not asked_to_stop and not self._output.reader_has_left:
            status = report_failure(failure, self._options, self._stop)
            await self._remark(session, "No answer was received. To continue, use `mailbox resume`.")
            return status
        if end == "stopped":
            await self._remark(session, "Stopped. To continue, use `mailbox resume`.")
            return self._stop.exit_status or _READER_LEFT
        return _NO_ANSWER if end == "nothing" and not self._options.no_wait else 0

    async def _remark(self, session: Session, text: str) -> None:
        state = session.state
        await self._output.observe(Notice(state.session_id, state.sequence_number, text))
