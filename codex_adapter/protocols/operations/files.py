"""Execute file operations in a workspace, and recover those that a kill interrupted (O8, O10, O12)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

from codex_adapter.protocols.operations.edits import EditFailed, apply_edits
from codex_adapter.protocols.operations.event_factory import EventFactory
from codex_adapter.protocols.operations.events import OperationEvent
from codex_adapter.protocols.operations.operations import (
    CreateFileOperation,
    DeleteFileOperation,
    EditFileOperation,
    MessageOperation,
    Operation,
    ReadFileOperation,
)
from codex_adapter.protocols.operations.store import Intent
from codex_adapter.protocols.operations.text_pieces import Text
from codex_adapter.workspace import Workspace, WorkspaceError, fingerprint

__all__ = ["FileChange", "FileExecutor", "NoChange", "Preview"]

FileChange: TypeAlias = CreateFileOperation | EditFileOperation | DeleteFileOperation
"""An operation that changes a file."""
NoChange: TypeAlias = MessageOperation | ReadFileOperation
"""An operation that changes nothing."""
_UNKNOWN: Final = (
    "The runtime was killed during this operation, and the outcome is unknown. Read the file before you change it"
)


class Preview(NamedTuple):
    """A file's content before and after a change; None if the file does not exist.

    `unseen` is the reason why the present content cannot be read, or empty.
    """

    path: str
    before: bytes | None
    after: bytes | None
    unseen: str = ""


class FileExecutor:
    """An executor of operations on files of at most `limit` bytes each. All methods block.

    The failure of an operation is in its event. A failure of the machine is raised as `WorkspaceError`.
    """

    def __init__(self, workspace: Workspace, limit: int, outcomes: EventFactory) -> None:
        self._workspace = workspace
        self._limit = limit
        self._events = outcomes

    def execute(self, operation: FileChange | NoChange, operation_id: str | None) -> OperationEvent:
        """Execute an operation and return its event."""
        try:
            members = self._perform(operation)
        except EditFailed as error:
            return self._events.failed(operation, operation_id, str(error))
        except UnicodeDecodeError:
            text = "The file is not UTF-8 text. Read it with the encoding base64"
            return self._events.failed(operation, operation_id, text)
        except WorkspaceError as error:
            if error.system:
                raise
            return self._events.failed(operation, operation_id, error.text)
        return self._events.done(operation, operation_id, **members)

    def preview(self, operation: Operation) -> Preview | None:
        """Return the effect of a change on the present file; None without a change, or for one that fails (O14)."""
        if not isinstance(operation, CreateFileOperation | EditFileOperation | DeleteFileOperation):
            return None
        before, unseen = self._read_present(operation.path)
        match operation:
            case CreateFileOperation(path=path):
                return Preview(path, before, b"".join(operation.pieces()), unseen)
            case EditFileOperation(path=path, edits=edits):
                with suppress(EditFailed):
                    return None if before is None else Preview(path, before, apply_edits(before, edits))
                return None
            case DeleteFileOperation(path=path):
                return Preview(path, before, None, unseen)

    def intent(self, operation: Operation) -> Intent | None:
        """Return the digests before and after a change; None for an operation that changes nothing (O12)."""
        match operation:
            case CreateFileOperation(path=path):
                return Intent(self._digest(path), _digest(operation.pieces()))
            case EditFileOperation(path=path, edits=edits):
                try:
                    content = self._workspace.read(path, limit=self._limit)
                    return Intent(_digest([content]), _digest([apply_edits(content, edits)]))
                except (WorkspaceError, EditFailed):
                    return Intent(was := self._digest(path), was)
            case DeleteFileOperation(path=path):
                return Intent(self._digest(path))
        return None

    def recover(self, operation: FileChange, intent: Intent, operation_id: str | None) -> OperationEvent:
        """Return the event of a change that a kill interrupted. If the file is unchanged, execute the change (O12)."""
        self._workspace.sweep(operation.path)
        now = self._digest(operation.path)
        if now == intent.was:
            return self.execute(operation, operation_id)
        if now != intent.becomes:
            return self._events.failed(operation, operation_id, _UNKNOWN)
        return self._events.done(operation, operation_id, **_members_of_change(operation))

    def _perform(self, operation: FileChange | NoChange) -> dict[str, object]:
        match operation:
            case CreateFileOperation(path=path, overwrite=overwrite):
                size = self._workspace.write(path, operation.pieces(), overwrite=overwrite, limit=self._limit)
                return {"bytes_written": size}
            case EditFileOperation(path=path, edits=edits):
                self._workspace.replace(path, lambda content: apply_edits(content, edits), limit=self._limit)
                return {"edits_applied": len(edits)}
            case DeleteFileOperation(path=path):
                self._workspace.delete(path)
            case ReadFileOperation(path=path, encoding=encoding):
                data = self._workspace.read(path, limit=self._limit)
                return {"content": Text.of_file(data, encoding), "encoding": encoding, "size": len(data)}
        return {}

    def _read_present(self, path: str) -> tuple[bytes | None, str]:
        """Return a file's content, or None and the reason why it cannot be read."""
        try:
            return self._workspace.read(path, limit=self._limit), ""
        except WorkspaceError as error:
            return None, "" if error.code == "not_found" else error.text

    def _digest(self, path: str) -> bytes | None:
        return fingerprint(self._workspace, path, limit=self._limit)


def _members_of_change(operation: FileChange) -> dict[str, object]:
    """Return the members of the event of a change that was complete before the kill."""
    match operation:
        case CreateFileOperation():
            return {"bytes_written": sum(map(len, operation.pieces()))}
        case EditFileOperation(edits=edits):
            return {"edits_applied": len(edits)}
    return {}


def _digest(pieces: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()
