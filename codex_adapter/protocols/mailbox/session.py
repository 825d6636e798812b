"""A session: its outboxes, and the rounds in which answers are carried out, each command once (I11 to I14)."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from codex_adapter.durable import sync_directory
from codex_adapter.protocols.mailbox.answer_parser import read_answer
from codex_adapter.protocols.mailbox.contents import requested_files
from codex_adapter.protocols.mailbox.events import Completed, Observer, Outbox, Said, TakenUp, WhatCame
from codex_adapter.protocols.mailbox.execution import Execution
from codex_adapter.protocols.mailbox.inbox import read_answer_file
from codex_adapter.protocols.mailbox.layout import MailboxError, Places, as_text, is_there, write_whole
from codex_adapter.protocols.mailbox.messages import (
    ANSWER,
    Asked,
    CommandResult,
    CreateFile,
    DeleteFile,
    Done,
    EditFile,
    Malformed,
    Message,
    ReadFile,
    RunCommand,
    SessionState,
)
from codex_adapter.protocols.mailbox.outbox import Outbox as OutboxText
from codex_adapter.protocols.mailbox.outbox import write_outbox
from codex_adapter.protocols.mailbox.rounds import Answer, Begun, Finished, Intent, Round
from codex_adapter.protocols.mailbox.states import States
from codex_adapter.workspace import WorkspaceError, components

__all__ = ["Session"]

_MOST_LOOKED_AT: Final = 100_000
_LONGEST_NAME: Final = 255
_CHANGED: Final = 2**31
"""In place of a command's index: of an answer that was changed, all that was not finished."""


class Session:
    """A session whose mailbox is locked for it. What is async raises `MailboxError`: then nothing more is done."""

    def __init__(
        self,
        places: Places,
        states: States,
        state: SessionState,
        execution: Execution,
        observe: Observer,
    ) -> None:
        self._places = places
        self._states = states
        self.state = state
        self._execution = execution
        self._observe = observe
        self._stopped = False

    @property
    def workspace(self) -> str:
        """The path of the workspace."""
        return self._execution.workspace.root

    @property
    def outbox(self) -> Path:
        """The last outbox."""
        return self._places.outbox_file(self.state.session_id, self.state.sequence_number)

    @property
    def has_taken_up(self) -> bool:
        """Whether there are answers of this round that were taken up in an earlier life."""
        return bool(self._taken_up(self._journal()))

    def stop(self) -> None:
        """Kill the command under way, and carry out nothing more."""
        self._stopped = True
        self._execution.stop()

    async def put_out(self) -> None:
        """See that the round's outbox is there, and tell of it."""
        if not is_there(self.outbox):
            write_whole(self.outbox, self._outbox_text().encode())
        await self._observe(Outbox(*self._where(), path=as_text(str(self.outbox))))

    async def carry_out(self, arrived: Sequence[Path]) -> bool:
        """Carry out what was taken up already and what arrived, and put out the next outbox.

        False where it was stopped before all was done.
        """
        journal = self._journal()
        position = max((before for before, _ in self._taken_up(journal)), default=0) + 1
        for arrival in arrived:
            position += self._take_up(position, arrival)
        summary: str | None = None
        seen: set[bytes] = set()
        for position, path in self._taken_up(journal):
            asked = self._asked(journal, position, path, seen, done=summary is not None)
            if path is not None:
                await self._observe(TakenUp(*self._where(), name=as_text(path.name), path=as_text(str(path))))
            for index, command in asked:
                finished = journal.finished(position, index)
                if finished is None and self._stopped:
                    return False
                result = finished.result if finished else await self._carry_out(journal, position, index, command)
                await self._observe(WhatCame(*self._where(), result=result, before=finished is not None))
                if isinstance(command, Message):
                    await self._observe(Said(*self._where(), text=command.text))
            if summary is None:
                summary = journal.summary(position)
        await self._end_round(journal, summary)
        return True

    async def _end_round(self, journal: Round, summary: str | None) -> None:
        done = summary is not None
        self.state = self._states.save(
            replace(
                self.state,
                sequence_number=self.state.sequence_number + (not done),
                is_complete=done,
                last_results=journal.results,
                read_file_requests=journal.requested,
            )
        )
        if summary is None:
            await self.put_out()
        else:
            await self._observe(Completed(*self._where(), summary=summary))

    def _asked(
        self, journal: Round, position: int, path: Path | None, seen: set[bytes], *, done: bool
    ) -> list[tuple[int, Asked]]:
        """The commands of an answer by their places in it, or the one error in the place of all that are left."""
        data = b"" if path is None else read_answer_file(path)
        digest = hashlib.sha256(data).digest()
        before = journal.digest(position)
        if path is None or before not in (None, digest) or journal.finished(position, _CHANGED) is not None:
            if before is not None:
                seen.add(before)  # what was the same as it, stays so
            why = "it was changed or removed after it had been taken up; what was left was not carried out"
            return [(_CHANGED, _refused(why))]
        if before is None:
            journal.add(Answer(position, digest))
        if done:
            return [(0, _refused("it stood behind DONE and was not carried out"))]
        if digest in seen:
            return [(0, _refused("it is the same as another answer of this round and was not carried out again"))]
        seen.add(digest)
        asked = list(enumerate(read_answer(data)))
        last = next((index for index, command in asked if isinstance(command, Done)), None)
        if last is None or last + 1 == len(asked):
            return asked
        behind = _refused(f"{len(asked) - last - 1} more stood behind DONE and were not carried out")
        # Before DONE is carried out, after which nothing more is told of.
        return [*asked[:last], (last + 1, behind), asked[last]]

    async def _carry_out(self, journal: Round, position: int, index: int, command: Asked) -> CommandResult:
        begun = journal.begun(position, index)
        if begun is not None:
            result = await self._execution.after_a_kill(command, begun.intent)
        else:
            result = await self._begin(journal, position, index, command)
        requested = None
        if isinstance(command, ReadFile) and result.success:
            requested = "/".join(components(command.path))
        journal.add(Finished(position, index, result, requested))
        return result

    async def _begin(self, journal: Round, position: int, index: int, command: Asked) -> CommandResult:
        intent: Intent | None = None
        if isinstance(command, CreateFile | EditFile | DeleteFile):
            try:
                intent = self._execution.intent(command)
            except WorkspaceError as error:
                return self._execution.failure(command, error)
        if intent is not None or isinstance(command, RunCommand):
            journal.add(Begun(position, index, intent))
        return await self._execution.carry_out(command)

    def _outbox_text(self) -> str:
        state = self.state
        try:
            listing = self._execution.workspace.entries(limit=_MOST_LOOKED_AT, without=(".git",))
        except WorkspaceError as error:
            raise MailboxError(f"the workspace cannot be listed: {error.text}") from None
        return write_outbox(
            OutboxText(
                session=state.session_id,
                sequence=state.sequence_number,
                task=state.task,
                listing=listing,
                results=state.last_results,
                requested=requested_files(self._execution.workspace, state.read_file_requests),
            )
        )

    def _take_up(self, position: int, path: Path) -> bool:
        """Move an answer to where nothing touches it any more, and it will be carried out; False where it is gone."""
        kept = self._places.processed / self._kept_name(position, path.name)
        try:
            if is_there(kept):
                raise MailboxError(f"processed/{self._kept_name(position, '')} exists already; move it away")
            path.rename(kept)
            sync_directory(self._places.processed)
            sync_directory(self._places.inbox)
        except FileNotFoundError:
            return False  # whoever brought it has taken it away again
        except OSError as error:
            if error.errno == errno.EXDEV:
                told = "inbox/ is on another file system than processed/, to which an answer is moved; put both on one"
                raise MailboxError(told) from None
            raise MailboxError(f"an answer cannot be moved to processed/ ({os.strerror(error.errno or 0)})") from None
        return True

    def _kept_name(self, position: int, name: str) -> str:
        prefix = f"{self._prefix()}{position:02d}_".encode()
        return os.fsdecode(prefix + os.fsencode(name)[-(_LONGEST_NAME - len(prefix)) :])

    def _journal(self) -> Round:
        return Round(self._places.round_file(self.state.session_id, self.state.sequence_number))

    def _taken_up(self, journal: Round) -> list[tuple[int, Path | None]]:
        """The answers of the round, by their positions; None for one that is not there any more."""
        prefix = self._prefix()
        try:
            names = sorted(os.listdir(self._places.processed))  # noqa: PTH208 - only the names
        except OSError as error:
            raise MailboxError(f"processed/ cannot be read ({os.strerror(error.errno or 0)})") from None
        numbers = ((name.removeprefix(prefix).partition("_")[0], name) for name in names if name.startswith(prefix))
        there = {int(number): self._places.processed / name for number, name in numbers if number.isdecimal()}
        return [(position, there.get(position)) for position in sorted(there.keys() | set(journal.positions))]

    def _prefix(self) -> str:
        return self._places.processed_prefix(self.state.session_id, self.state.sequence_number)

    def _where(self) -> tuple[str, int]:
        return self.state.session_id, self.state.sequence_number


def _refused(error: str) -> Malformed:
    return Malformed(name=ANSWER, line=1, error=error)
