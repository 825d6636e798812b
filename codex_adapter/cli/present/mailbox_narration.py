"""Narrate the events of a mailbox: convert them to lines of safe text (C12)."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from typing import Final

from codex_adapter.agents import agent_of, kinds
from codex_adapter.cli.present.lines import Line, Tone, last_lines, one_line, printable
from codex_adapter.protocols.mailbox.events import (
    AnswerAccepted,
    CommandFinished,
    MailboxEvent,
    ModelMessage,
    Notice,
    OutboxWritten,
    SessionCompleted,
    Waiting,
)
from codex_adapter.protocols.mailbox.layout import MailboxLayout
from codex_adapter.protocols.mailbox.messages import CommandResult, Done, SessionState, ShowMessage

__all__ = ["MailboxNarrator", "state_lines"]

_OUTPUT_LINES: Final = 10
_SHOWN_ANYWAY: Final = (ShowMessage.name, Done.name)


class MailboxNarrator:
    """A narrator of a session. With `clipboard`, each outbox is also on the clipboard."""

    live_tones: frozenset[Tone] = frozenset()

    def __init__(self, *, clipboard: bool) -> None:
        self._clipboard = clipboard
        self._outbox = ""
        self._waiting_for: str | None = None
        self._since = 0.0

    @property
    def live(self) -> list[Line]:
        """The line that shows what the session waits for, and since when."""
        seconds = time.monotonic() - self._since
        waiting = f"waiting for {self._waiting_for} ({seconds:.0f} s)"
        return [] if self._waiting_for is None else [Line("waiting", waiting)]

    def narrate(self, event: MailboxEvent) -> list[Line]:
        """Return the lines of an event; none if another line shows it."""
        before = self._waiting_for
        if not isinstance(event, Notice):
            self._waiting_for = None
        lines = list(self._event(event))
        if self._waiting_for != before:
            self._since = time.monotonic()
        return lines

    def _event(self, event: MailboxEvent) -> Iterator[Line]:
        match event:
            case OutboxWritten(session=session, sequence=sequence, path=path):
                self._outbox = one_line(path)
                yield Line("notice", f"session {session}, outbox {sequence}: {self._outbox}")
            case Waiting(inbox=inbox, answering=None):
                self._waiting_for = "an answer in the inbox"
                text = f"the whole text of {self._outbox}"
                text = (
                    f"Copy the clipboard, or {text}, to the model." if self._clipboard else f"Copy {text} to the model."
                )
                yield Line("plan", f"{text} Save its answer as a .txt file in {one_line(inbox)}")
            case Waiting(answering=who):
                self._waiting_for = "the answer"
                yield Line("notice", f"waiting for the answer of {_answerer(str(who))}")
            case AnswerAccepted(name=name):
                yield Line("notice", f"answer {one_line(name)}")
            case CommandFinished(result=result, before=before):
                if _adds_information(result):
                    text = f"{result.command}: {result.summary}" + (" (earlier)" if before else "")
                    yield Line("ok" if result.success else "failed", one_line(text))
                    yield from last_lines(result.output, _OUTPUT_LINES)
            case ModelMessage(text=text):
                yield Line("answer", printable(text))
            case SessionCompleted(summary=summary):
                yield from [Line("answer", printable(summary))] if summary.strip() else []
                yield Line("ok", "the task is complete")
            case Notice(text=text):
                yield Line("warning", one_line(text))


def state_lines(places: MailboxLayout, state: SessionState, waiting: Sequence[str]) -> list[Line]:
    """Return the state of a session and the next step."""
    how = "complete" if state.is_complete else "not complete"
    text = f"session {state.session_id}: {how}, outbox {state.sequence_number}, last changed {state.updated_at}"
    lines = [Line("ok" if state.is_complete else "started", one_line(text)), Line("plan", one_line(state.task))]
    if state.is_complete:
        summaries = [result.output for result in state.last_results if result.success and result.command == Done.name]
        return lines + [Line("answer", printable(text)) for text in summaries if text.strip()]
    for result in filter(_adds_information, state.last_results):
        lines.append(Line("ok" if result.success else "failed", one_line(f"{result.command}: {result.summary}")))
    for name in waiting:
        lines.append(Line("notice", f"waits in the inbox: {one_line(name)}"))
    root = printable(shlex.quote(os.fsencode(places.root).decode(errors="replace")))
    lines.append(Line("plan", f"to continue: codex-adapter mailbox resume --mailbox {root}"))
    return lines


def _adds_information(result: CommandResult) -> bool:
    """Return whether a result has more information than its text, which another line shows."""
    return not result.success or result.command not in _SHOWN_ANYWAY


def _answerer(name: str) -> str:
    return agent_of(name).name if name in kinds() else "your command"
