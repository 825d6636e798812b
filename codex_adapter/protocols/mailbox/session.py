"""Run the rounds of a session: write outboxes and execute answers, each command once (I11 to I14)."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import trio
from msgspec.structs import replace

from codex_adapter.durable import sync_directory
from codex_adapter.file_systems import work_through
from codex_adapter.protocols.mailbox.answer_parser import parse_answer
from codex_adapter.protocols.mailbox.contents import requested_files
from codex_adapter.protocols.mailbox.events import (
    AnswerAccepted,
    CommandFinished,
    ModelMessage,
    Observer,
    OutboxWritten,
    SessionCompleted,
)
from codex_adapter.protocols.mailbox.execution import CommandExecutor, FileChange
from codex_adapter.protocols.mailbox.inbox import read_answer_file
from codex_adapter.protocols.mailbox.layout import (
    MailboxError,
    MailboxLayout,
    path_exists,
    path_text,
    write_whole,
)
from codex_adapter.protocols.mailbox.messages import (
    ANSWER,
    AnswerItem,
    CommandResult,
    CreateFile,
    DeleteFile,
    Done,
    EditFile,
    Malformed,
    ReadFile,
    RunCommand,
    SessionState,
    ShowMessage,
)
from codex_adapter.protocols.mailbox.outbox import OutboxContent, render_outbox
from codex_adapter.protocols.mailbox.rounds import AnswerRecord, Begun, Finished, RoundJournal
from codex_adapter.protocols.mailbox.session_store import SessionStore
from codex_adapter.workspace import WorkspaceError, split_path

__all__ = ["Session"]

_MOST_LOOKED_AT: Final = 100_000
_LONGEST_NAME: Final = 255
_CHANGED: Final = 2**31
"""The index for all unfinished commands of an answer that was changed."""


class Session:
    """A session whose mailbox is locked for it.

    Async methods work in threads and raise `MailboxError`. After an error, nothing more is executed.
    """

    def __init__(
        self,
        layout: MailboxLayout,
        store: SessionStore,
        state: SessionState,
        executor: CommandExecutor,
        observe: Observer,
    ) -> None:
        self._layout = layout
        self._store = store
        self.state = state
        self._executor = executor
        self._observe = observe
        self._stopped = False

    @property
    def workspace(self) -> str:
        """The path of the workspace."""
        return self._executor.workspace.root

    @property
    def outbox(self) -> Path:
        """The path of the last outbox."""
        return self._layout.outbox_file(self.state.session_id, self.state.sequence_number)

    async def has_accepted(self) -> bool:
        """Return whether an earlier process accepted answers of this round and did not finish them."""
        return bool(await work_through(lambda: self._accepted(self._journal())))

    def stop(self) -> None:
        """Kill the current command, and execute nothing more."""
        self._stopped = True
        self._executor.stop()

    async def write_outbox(self) -> None:
        """Write the round's outbox if it does not exist, and report it."""
        await work_through(self._write_missing_outbox)
        await self._observe(OutboxWritten(*self._where(), path=path_text(str(self.outbox))))

    async def execute(self, arrived: Sequence[Path]) -> bool:
        """Execute the accepted answers and the answers in `arrived`, then write the next outbox.

        Return False if the work was stopped before its end.
        """
        journal, answers = await work_through(self._accept_all, arrived)
        summary: str | None = None
        seen: set[bytes] = set()
        for position, path in answers:
            items = await work_through(partial(self._items, journal, position, path, seen, done=summary is not None))
            if path is not None:
                await self._observe(
                    AnswerAccepted(*self._where(), name=path_text(path.name), path=path_text(str(path)))
                )
            for index, command in items:
                finished = journal.finished(position, index)
                if finished is None and self._stopped:
                    return False
                result = finished.result if finished else await self._execute_once(journal, position, index, command)
                await self._observe(CommandFinished(*self._where(), result=result, before=finished is not None))
                if isinstance(command, ShowMessage):
                    await self._observe(ModelMessage(*self._where(), text=command.text))
            if summary is None:
                summary = journal.summary(position)
        await self._end_round(journal, summary)
        return True

    async def _end_round(self, journal: RoundJournal, summary: str | None) -> None:
        done = summary is not None
        state = replace(
            self.state,
            sequence_number=self.state.sequence_number + (not done),
            is_complete=done,
            last_results=journal.results,
            read_file_requests=journal.requested,
        )
        self.state = await work_through(self._store.save, state)
        if summary is None:
            await self.write_outbox()
        else:
            await self._observe(SessionCompleted(*self._where(), summary=summary))

    def _items(
        self, journal: RoundJournal, position: int, path: Path | None, seen: set[bytes], *, done: bool
    ) -> list[tuple[int, AnswerItem]]:
        """Return the items of an answer with their indexes, or one error in place of the unfinished items."""
        data = b"" if path is None else read_answer_file(path)
        digest = hashlib.sha256(data).digest()
        before = journal.digest(position)
        if path is None or before not in (None, digest) or journal.finished(position, _CHANGED) is not None:
            if before is not None:
                seen.add(before)  # a later answer with the same bytes is still a repetition
            why = "it was changed or removed after it had been accepted; its other commands were not executed"
            return [(_CHANGED, _refused(why))]
        if before is None:
            journal.add(AnswerRecord(position, digest))
        if done:
            return [(0, _refused("it arrived after DONE and was not executed"))]
        if digest in seen:
            return [(0, _refused("it is the same as another answer of this round and was not executed again"))]
        seen.add(digest)
        items = list(enumerate(parse_answer(data)))
        last = next((index for index, command in items if isinstance(command, Done)), None)
        if last is None or last + 1 == len(items):
            return items
        refused = _refused(f"{len(items) - last - 1} more commands after DONE were not executed")
        # Report this before DONE is executed: nothing is reported after it.
        return [*items[:last], (last + 1, refused), items[last]]

    async def _execute_once(
        self, journal: RoundJournal, position: int, index: int, command: AnswerItem
    ) -> CommandResult:
        begun = journal.begun(position, index)
        if begun is not None:
            result = await self._executor.recover(command, begun.intent)
        else:
            result = await self._begin(journal, position, index, command)
        requested = None
        if isinstance(command, ReadFile) and result.success:
            requested = "/".join(split_path(command.path))
        # The command has run, so a cancellation must not lose its result.
        with trio.CancelScope(shield=True):
            await work_through(journal.add, Finished(position, index, result, requested))
        return result

    async def _begin(self, journal: RoundJournal, position: int, index: int, command: AnswerItem) -> CommandResult:
        if isinstance(command, CreateFile | EditFile | DeleteFile | RunCommand):
            try:
                await work_through(self._record_begun, journal, position, index, command)
            except WorkspaceError as error:
                assert not isinstance(command, RunCommand)  # noqa: S101 - only a change of a file has an intent
                return self._executor.failure(command, error)
        return await self._executor.execute(command)

    def _record_begun(self, journal: RoundJournal, position: int, index: int, command: FileChange | RunCommand) -> None:
        intent = None if isinstance(command, RunCommand) else self._executor.intent(command)
        journal.add(Begun(position, index, intent))

    def _accept_all(self, arrived: Sequence[Path]) -> tuple[RoundJournal, list[tuple[int, Path | None]]]:
        journal = self._journal()
        position = max((before for before, _ in self._accepted(journal)), default=0) + 1
        for arrival in arrived:
            position += self._accept(position, arrival)
        return journal, self._accepted(journal)

    def _write_missing_outbox(self) -> None:
        if not path_exists(self.outbox):
            write_whole(self.outbox, self._outbox_text().encode())

    def _outbox_text(self) -> str:
        state = self.state
        try:
            listing = self._executor.workspace.entries(limit=_MOST_LOOKED_AT, without=(".git",))
        except WorkspaceError as error:
            raise MailboxError(f"the workspace cannot be listed: {error.text}") from None
        return render_outbox(
            OutboxContent(
                session=state.session_id,
                sequence=state.sequence_number,
                task=state.task,
                listing=listing,
                results=state.last_results,
                requested=requested_files(self._executor.workspace, state.read_file_requests),
            )
        )

    def _accept(self, position: int, path: Path) -> bool:
        """Move an answer to `processed/`, so that it will be executed. Return False if it was removed."""
        kept = self._layout.processed / self._kept_name(position, path.name)
        try:
            if path_exists(kept):
                raise MailboxError(f"processed/{self._kept_name(position, '')} exists already. Move it away")
            path.rename(kept)
            sync_directory(self._layout.processed)
            sync_directory(self._layout.inbox)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno == errno.EXDEV:
                problem = "inbox/ and processed/ are on different file systems. Put both on the same one"
                raise MailboxError(problem) from None
            raise MailboxError(f"an answer cannot be moved to processed/ ({os.strerror(error.errno or 0)})") from None
        return True

    def _kept_name(self, position: int, name: str) -> str:
        prefix = f"{self._prefix()}{position:02d}_".encode()
        return os.fsdecode(prefix + os.fsencode(name)[-(_LONGEST_NAME - len(prefix)) :])

    def _journal(self) -> RoundJournal:
        return RoundJournal(self._layout.round_file(self.state.session_id, self.state.sequence_number))

    def _accepted(self, journal: RoundJournal) -> list[tuple[int, Path | None]]:
        """Return the positions and paths of the round's answers. The path of a removed answer is None."""
        prefix = self._prefix()
        try:
            names = sorted(os.listdir(self._layout.processed))  # noqa: PTH208 - only the names
        except OSError as error:
            raise MailboxError(f"processed/ cannot be read ({os.strerror(error.errno or 0)})") from None
        numbers = ((name.removeprefix(prefix).partition("_")[0], name) for name in names if name.startswith(prefix))
        found = {int(number): self._layout.processed / name for number, name in numbers if number.isdecimal()}
        return [(position, found.get(position)) for position in sorted(found.keys() | set(journal.positions))]

    def _prefix(self) -> str:
        return self._layout.processed_prefix(self.state.session_id, self.state.sequence_number)

    def _where(self) -> tuple[str, int]:
        return self.state.session_id, self.state.sequence_number


def _refused(error: str) -> Malformed:
    return Malformed(name=ANSWER, line=1, error=error)
