"""The commands of an answer carried out in a workspace, and what became of one that a kill cut short (I9, I10, I14)."""

from __future__ import annotations

import hashlib
from typing import Final, TypeAlias

import trio

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

__all__ = ["Change", "CommandExecutor"]

Change: TypeAlias = CreateFile | EditFile | DeleteFile
"""What changes a file."""

_SECONDS: Final = 30
_MOST_SHOWN: Final = 100
_REJECTED: Final = "REJECTED: Path is outside workspace"
_UNKNOWN_FILE: Final = "was being changed when this agent was killed, and is neither as before nor as asked for"
_UNKNOWN_COMMAND: Final = "was under way when this agent was killed; what it did is not known, and it was not run again"
_STOPPED: Final = "was killed, since this agent was asked to stop"


class CommandExecutor:
    """Carry out one command after another; commands run in `sandbox` where there is one, held by `containment`.

    Failures are results: whoever asked is told of them.
    """

    def __init__(
        self, workspace: Workspace, sandbox: Sandbox | None, *, network: bool, containment: Containment | None = None
    ) -> None:
        self.workspace: Final = workspace
        self._sandbox = sandbox
        self._network = network
        self._containment = containment or Containment()
        self._under_way = trio.CancelScope()

    def stop(self) -> None:
        """Kill the command under way."""
        self._under_way.cancel()

    async def execute(self, asked: AnswerItem) -> CommandResult:
        """Do it, and tell what came of it."""
        match asked:
            case RunCommand(command=command):
                return await self._run(command)
            case Malformed(name=name, error=error):
                return CommandResult(name, success=False, summary=error)
            case ShowMessage():
                return CommandResult(asked.name, success=True, summary="Shown to the user")
            case Done(text=text):
                # No outbox has it, and whoever is killed before it is shown finds it in the session's state.
                return CommandResult(asked.name, success=True, summary="Shown to the user", output=text)
        try:
            return CommandResult(asked.name, success=True, summary=self._do(asked))
        except EditFailed as error:
            return _failed(asked.name, f"Cannot edit {_named(asked.path)}: {error}")
        except WorkspaceError as error:
            return self.failure(asked, error)

    def failure(self, asked: Change | ReadFile, error: WorkspaceError) -> CommandResult:
        """What is told of one that cannot be done."""
        return _failed(asked.name, _told(asked.path, error))

    def intent(self, asked: Change) -> ChangeIntent:
        """What a change starts from and leads to (I14). Raises `WorkspaceError` for failures of the machine."""
        was = self._fingerprint(asked.path)
        match asked:
            case CreateFile(content=content):
                return ChangeIntent(was, hashlib.sha256(content.encode()).digest())
            case EditFile():
                return ChangeIntent(was, self._edited(asked, was))
        return ChangeIntent(was, None)

    async def recover(self, asked: AnswerItem, intent: ChangeIntent | None) -> CommandResult:
        """What became of a command that was begun; a change of a file that was not made is made (I14)."""
        match asked:
            case RunCommand(command=command):
                return _failed(asked.name, f"{_named(_first_line(command))} {_UNKNOWN_COMMAND}")
            case CreateFile() | EditFile() | DeleteFile() if intent is not None:
                return await self._settle(asked, intent)
        return await self.execute(asked)

    async def _settle(self, asked: Change, intent: ChangeIntent) -> CommandResult:
        try:
            self.workspace.sweep(asked.path)
            now = self._fingerprint(asked.path)
        except WorkspaceError as error:
            if error.system:
                return self.failure(asked, error)
            return await self.execute(asked)
        if now == intent.was:
            return await self.execute(asked)
        if now != intent.becomes:
            return _failed(asked.name, f"{_named(asked.path)} {_UNKNOWN_FILE}; look at it first")
        return CommandResult(asked.name, success=True, summary=_done(asked))

    def _do(self, asked: Change | ReadFile) -> str:
        path = asked.path
        _require_slashes(path)
        match asked:
            case CreateFile(content=content):
                self.workspace.write(path, [content.encode()], overwrite=True, limit=MOST_ANSWER_BYTES * 4)
            case EditFile():
                self.workspace.replace(path, lambda content: _replaced(content, asked), limit=MOST_EDITED_BYTES)
            case DeleteFile():
                self.workspace.delete(path)
            case ReadFile():
                read_text(self.workspace, path)
        return _done(asked)

    def _edited(self, asked: EditFile, was: bytes | None) -> bytes | None:
        """The fingerprint of a file once it is edited; that of now where it cannot be."""
        try:
            content = self.workspace.read(asked.path, limit=MOST_EDITED_BYTES)
            return hashlib.sha256(_replaced(content, asked)).digest()
        except (WorkspaceError, EditFailed):
            return was

    def _fingerprint(self, path: str) -> bytes | None:
        return fingerprint(self.workspace, path, limit=MOST_EDITED_BYTES * 8)

    async def _run(self, command: str) -> CommandResult:
        named = _named(_first_line(command))
        ran: Ran | None = None
        with trio.CancelScope() as self._under_way:
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
            told = f"{named} was killed, with all that it started: it took longer than {_SECONDS} seconds"
            return CommandResult(RunCommand.name, success=False, summary=told, output=output)
        summary = f"Ran {named} (exit code {ran.exit_code})"
        return CommandResult(RunCommand.name, success=ran.exit_code == 0, summary=summary, output=output)


def _replaced(content: bytes, asked: EditFile) -> bytes:
    return replace_lines(content, asked.start_line, asked.end_line, asked.content)


def _done(asked: Change | ReadFile) -> str:
    named = _named(asked.path)
    match asked:
        case CreateFile():
            return f"Created {named}"
        case EditFile(start_line=start, end_line=end, content=content):
            return f"Edited {named} (lines {start} to {end} are now {content.count(chr(10))} lines)"
        case DeleteFile():
            return f"Deleted {named}"
    return f"The content of {named} follows below"


def _told(path: str, error: WorkspaceError) -> str:
    named = _named(path)
    if error.code == "outside" or path.startswith("/") or ".." in path.split("/"):
        return f"{_REJECTED}: {named}"
    return f"File {named} not found" if error.code == "not_found" else f"{named}: {error.text}"


def _require_slashes(path: str) -> None:
    if "\\" in path:
        raise WorkspaceError("bad_name", "Path must have / between its names, and no backslash")


def _first_line(command: str) -> str:
    lines = [line.strip() for line in command.split("\n") if line.strip()]
    return lines[0] + (" ..." if len(lines) > 1 else "")


def _named(text: str) -> str:
    short = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
    return f"'{escape_controls(short)}'"


def _failed(name: str, summary: str) -> CommandResult:
    return CommandResult(name, success=False, summary=summary)
