"""Execute the commands of an answer in a workspace, and recover those that a kill interrupted (I9, I10, I14)."""

from __future__ import annotations

import hashlib
from typing import Final, TypeAlias

import trio

from codex_adapter.file_systems import work_through
from codex_adapter.protocols.mailbox.contents import read_text
from codex_adapter.protocols.mailbox.edits import MOST_EDITED_BYTES, EditFailed, replace_lines
from codex_adapter.protocols.mailbox.messages import (
    MOST_ANSWER_BYTES,
    AnswerItem,
    CommandResult,
    CreateFile,
    DeleteFile,
    Done,
    EditFile,
    Malformed,
    ReadFile,
    RunCommand,
    ShowMessage,
)
from codex_adapter.protocols.mailbox.outbox import escape_controls
from codex_adapter.protocols.mailbox.output_text import KEPT_BYTES, output_text
from codex_adapter.protocols.mailbox.rounds import ChangeIntent
from codex_adapter.workspace import CommandResult as Ran
from codex_adapter.workspace import Containment, Sandbox, Workspace, WorkspaceError, fingerprint, run_command

__all__ = ["CommandExecutor", "FileChange"]

FileChange: TypeAlias = CreateFile | EditFile | DeleteFile
"""A command that changes a file."""

_SECONDS: Final = 30
_MOST_SHOWN: Final = 100
_REJECTED: Final = "REJECTED: Path is outside workspace"
_UNKNOWN_FILE: Final = "was being changed when the adapter was killed. It has neither its old nor its new content"
_UNKNOWN_COMMAND: Final = "was running when the adapter was killed. Its outcome is unknown, and it was not run again"
_STOPPED: Final = "was killed, because the adapter received a stop signal"


class CommandExecutor:
    """Execute one command after another; shell commands run in `sandbox`, if any, and in `containment`.

    A failure is a result, which the model receives. Files are read and written in threads.
    """

    def __init__(
        self, workspace: Workspace, sandbox: Sandbox | None, *, network: bool, containment: Containment | None = None
    ) -> None:
        self.workspace: Final = workspace
        self._sandbox = sandbox
        self._network = network
        self._containment = containment or Containment()
        self._running = trio.CancelScope()

    def stop(self) -> None:
        """Kill the current command."""
        self._running.cancel()

    async def execute(self, item: AnswerItem) -> CommandResult:
        """Execute an item of an answer and return its result."""
        match item:
            case RunCommand(command=command):
                return await self._run(command)
            case Malformed(name=name, error=error):
                return CommandResult(name, success=False, summary=error)
            case ShowMessage():
                return CommandResult(item.name, success=True, summary="Shown to the user")
            case Done(text=text):
                # No outbox shows the summary. If a kill prevents its display, the session's state still has it.
                return CommandResult(item.name, success=True, summary="Shown to the user", output=text)
        try:
            return CommandResult(item.name, success=True, summary=await work_through(self._perform, item))
        except EditFailed as error:
            return _failed(item.name, f"Cannot edit {_quote(item.path)}: {error}")
        except WorkspaceError as error:
            return self.failure(item, error)

    def failure(self, item: FileChange | ReadFile, error: WorkspaceError) -> CommandResult:
        """Return the result of a command that cannot be executed."""
        return _failed(item.name, _failure_text(item.path, error))

    def intent(self, item: FileChange) -> ChangeIntent:
        """Return the fingerprints of a file before and after a change; blocks (I14).

        Raises `WorkspaceError` for a failure of the machine.
        """
        was = self._fingerprint(item.path)
        match item:
            case CreateFile(content=content):
                return ChangeIntent(was, hashlib.sha256(content.encode()).digest())
            case EditFile():
                return ChangeIntent(was, self._edited_fingerprint(item, was))
        return ChangeIntent(was, None)

    async def recover(self, item: AnswerItem, intent: ChangeIntent | None) -> CommandResult:
        """Return the result of a command that an earlier process began.

        A change of a file that is not complete is executed again, and a shell command is not (I14).
        """
        match item:
            case RunCommand(command=command):
                return _failed(item.name, f"{_quote(_first_line(command))} {_UNKNOWN_COMMAND}")
            case CreateFile() | EditFile() | DeleteFile() if intent is not None:
                return await self._settle(item, intent)
        return await self.execute(item)

    async def _settle(self, item: FileChange, intent: ChangeIntent) -> CommandResult:
        try:
            now = await work_through(self._swept_fingerprint, item.path)
        except WorkspaceError as error:
            if error.system:
                return self.failure(item, error)
            return await self.execute(item)
        if now == intent.was:
            return await self.execute(item)
        if now != intent.becomes:
            return _failed(item.name, f"{_quote(item.path)} {_UNKNOWN_FILE}. Read it before you change it")
        return CommandResult(item.name, success=True, summary=_success_text(item))

    def _perform(self, item: FileChange | ReadFile) -> str:
        path = item.path
        _require_slashes(path)
        match item:
            case CreateFile(content=content):
                self.workspace.write(path, [content.encode()], overwrite=True, limit=MOST_ANSWER_BYTES * 4)
            case EditFile():
                self.workspace.replace(path, lambda content: _edit(content, item), limit=MOST_EDITED_BYTES)
            case DeleteFile():
                self.workspace.delete(path)
            case ReadFile():
                read_text(self.workspace, path)
        return _success_text(item)

    def _edited_fingerprint(self, item: EditFile, was: bytes | None) -> bytes | None:
        """Return the fingerprint that the file will have; the present one if the file cannot be edited."""
        try:
            content = self.workspace.read(item.path, limit=MOST_EDITED_BYTES)
            return hashlib.sha256(_edit(content, item)).digest()
        except (WorkspaceError, EditFailed):
            return was

    def _swept_fingerprint(self, path: str) -> bytes | None:
        self.workspace.sweep(path)
        return self._fingerprint(path)

    def _fingerprint(self, path: str) -> bytes | None:
        return fingerprint(self.workspace, path, limit=MOST_EDITED_BYTES * 8)

    async def _run(self, command: str) -> CommandResult:
        named = _quote(_first_line(command))
        ran: Ran | None = None
        with trio.CancelScope() as self._running:
            try:
                ran = await run_command(
                    self.workspace,
                    command,
                    timeout=_SECONDS,
                    sandbox=self._sandbox,
                    network=self._network,
                    keep=KEPT_BYTES,
                    containment=self._containment,
                )
            except WorkspaceError as error:
                return _failed(RunCommand.name, f"Cannot run {named}: {error.text}")
        if ran is None:
            return _failed(RunCommand.name, f"{named} {_STOPPED}")
        output = output_text(ran.stdout, ran.stderr)
        if ran.timed_out:
            summary = f"{named} took longer than {_SECONDS} seconds and was killed, with all processes that it started"
            return CommandResult(RunCommand.name, success=False, summary=summary, output=output)
        summary = f"Ran {named} (exit code {ran.exit_code})"
        return CommandResult(RunCommand.name, success=ran.exit_code == 0, summary=summary, output=output)


def _edit(content: bytes, item: EditFile) -> bytes:
    return replace_lines(content, item.start_line, item.end_line, item.content)


def _success_text(item: FileChange | ReadFile) -> str:
    named = _quote(item.path)
    match item:
        case CreateFile():
            return f"Created {named}"
        case EditFile(start_line=start, end_line=end, content=content):
            return f"Edited {named} (lines {start} to {end} are now {content.count(chr(10))} lines)"
        case DeleteFile():
            return f"Deleted {named}"
    return f"The content of {named} is below"


def _failure_text(path: str, error: WorkspaceError) -> str:
    named = _quote(path)
    if error.code == "outside" or path.startswith("/") or ".." in path.split("/"):
        return f"{_REJECTED}: {named}"
    return f"File {named} not found" if error.code == "not_found" else f"{named}: {error.text}"


def _require_slashes(path: str) -> None:
    if "\\" in path:
        raise WorkspaceError("bad_name", "Path has a backslash. Put / between its names")


def _first_line(command: str) -> str:
    lines = [line.strip() for line in command.split("\n") if line.strip()]
    return lines[0] + (" ..." if len(lines) > 1 else "")


def _quote(text: str) -> str:
    short = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
    return f"'{escape_controls(short)}'"


def _failed(name: str, summary: str) -> CommandResult:
    return CommandResult(name, success=False, summary=summary)
