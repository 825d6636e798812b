"""What happens in a mailbox, told to a person; what a model or a command said is safe text (C12)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from codex_adapter.cli.present.narration import Line, printable
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

__all__ = ["Words", "state_lines"]

_OUTPUT_LINES: Final = 10
_OUTPUT_WIDTH: Final = 200
_SHOWN_ANYWAY: Final = (ShowMessage.name, Done.name)
_ANSWERING: Final = {
    "codex": "the Codex CLI is asked for the answer",
    "command": "your command is asked for the answer",
}


class Words:
    """Tells of a session; with `clipboard` each outbox is copied to it."""

    def __init__(self, *, clipboard: bool) -> None:
        self._clipboard = clipboard
        self._outbox = ""
        self.waiting_for: str | None = None
        """What is waited for; None while nothing is."""

    def tell(self, happening: MailboxEvent) -> list[Line]:
        """The lines for it; none for what a person sees anyway."""
        if not isinstance(happening, Notice):
            self.waiting_for = None
        return list(self._tell(happening))

    def _tell(self, happening: MailboxEvent) -> Iterator[Line]:
        match happening:
            case OutboxWritten(session=session, sequence=sequence, path=path):
                self._outbox = _one_line(path)
                yield Line("notice", f"session {session}, outbox {sequence}: {self._outbox}")
            case Waiting(inbox=inbox, answering=None):
                self.waiting_for = "an answer in the inbox"
                what = "Paste the clipboard or" if self._clipboard else "Copy"
                text = f"{what} the whole text of {self._outbox} to the model,"
                yield Line("plan", f"{text} and save its answer as a .txt file in {_one_line(inbox)}")
            case Waiting(answering=who):
                self.waiting_for = "the answer"
                yield Line("notice", _ANSWERING[str(who)])
            case AnswerAccepted(name=name):
                yield Line("notice", f"answer {_one_line(name)}")
            case CommandFinished(result=result, before=before):
                if _is_told(result):
                    told = f"{result.command}: {result.summary}" + (" (earlier)" if before else "")
                    yield Line("ok" if result.success else "failed", _one_line(told))
                    yield from _last_lines(result.output)
            case ModelMessage(text=text):
                yield Line("answer", printable(text))
            case SessionCompleted(summary=summary):
                yield from [Line("answer", printable(summary))] if summary.strip() else []
                yield Line("ok", "the task is complete")
            case Notice(text=text):
                yield Line("warning", _one_line(text))


def state_lines(places: MailboxLayout, state: SessionState, waiting: Sequence[str]) -> list[Line]:
    """How a session stands, and what to do next."""
    how = "complete" if state.is_complete else "not complete"
    told = f"session {state.session_id}: {how}, outbox {state.sequence_number}, last changed {state.updated_at}"
    lines = [Line("ok" if state.is_complete else "started", _one_line(told)), Line("plan", _one_line(state.task))]
    if state.is_complete:
        said = [result.output for result in state.last_results if result.success and result.command == Done.name]
        return lines + [Line("answer", printable(text)) for text in said if text.strip()]
    for result in filter(_is_told, state.last_results):
        lines.append(Line("ok" if result.success else "failed", _one_line(f"{result.command}: {result.summary}")))
    for name in waiting:
        lines.append(Line("notice", f"waits in the inbox: {_one_line(name)}"))
    root = printable(shlex.quote(os.fsencode(places.root).decode(errors="replace")))
    lines.append(Line("plan", f"go on with: codex-adapter mailbox resume --mailbox {root}"))
    return lines


def _is_told(result: CommandResult) -> bool:
    """Whether it says more than its text, which is shown anyway."""
    return not result.success or result.command not in _SHOWN_ANYWAY


def _last_lines(output: str) -> list[Line]:
    lines = printable(output).strip("\n").split("\n") if output.strip() else []
    return [Line("output", line[:_OUTPUT_WIDTH]) for line in lines[-_OUTPUT_LINES:]]


def _one_line(text: str) -> str:
    return " ".join(printable(text).split("\n"))
