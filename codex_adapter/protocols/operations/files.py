"""File operations carried out in a workspace, and what became of those that a kill cut short (O8, O10, O12)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

from codex_adapter.protocols.operations.edits import EditFailed, apply_edits
from codex_adapter.protocols.operations.outcomes import Outcomes
from codex_adapter.protocols.operations.protocol import (
    CreateFileOperation,
    DeleteFileOperation,
    EditFileOperation,
    MessageOperation,
    Operation,
    OperationEvent,
    ReadFileOperation,
)
from codex_adapter.protocols.operations.store import Intent
from codex_adapter.protocols.operations.text_pieces import Text
from codex_adapter.workspace import Workspace, WorkspaceError, fingerprint

__all__ = ["Change", "Files", "Preview", "Quiet"]

Change: TypeAlias = CreateFileOperation | EditFileOperation | DeleteFileOperation
"""What changes a file."""
Quiet: TypeAlias = MessageOperation | ReadFileOperation
"""What changes nothing."""
_UNKNOWN: Final = "The runtime was killed while this was under way, and the file is not as it was; look at it first"


class Preview(NamedTuple):
    """A file's content before and after a change; None for no file, or `unseen`, why it cannot be read."""

    path: str
    before: bytes | None
    after: bytes | None
    unseen: str = ""


class Files:
    """Carries out the operations on files, of at most `limit` bytes each. Its methods block.

    Failures of an operation are its event; those of the machine are raised, as `WorkspaceError`.
    """

    def __init__(self, workspace: Workspace, limit: int, outcomes: Outcomes) -> None:
        self._workspace = workspace
        self._limit = limit
        self._outcomes = outcomes

    def carry_out(self, operation: Change | Quiet, operation_id: str | None) -> OperationEvent:
        """Do it."""
        try:
            members = self._do(operation)
        except EditFailed as error:
            return self._outcomes.failed(operation, operation_id, str(error))
        except UnicodeDecodeError:
            text = "The file is not UTF-8 text; read it with the encoding base64"
            return self._outcomes.failed(operation, operation_id, text)
        except WorkspaceError as error:
            if error.system:
                raise
            return self._outcomes.failed(operation, operation_id, error.text)
        return self._outcomes.done(operation, operation_id, **members)

    def preview(self, operation: Operation) -> Preview | None:
        """What a change would make of a file as it is now; None for what is no change, or would fail (O14)."""
        if not isinstance(operation, CreateFileOperation | EditFileOperation | DeleteFileOperation):
            return None
        before, unseen = self._seen(operation.path)
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
        """What a change starts from and leads to; None for what is no change (O12)."""
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

    def after_a_kill(self, operation: Change, intent: Intent, operation_id: str | None) -> OperationEvent:
        """Find out whether a change was made, and make it if it was not (O12)."""
        self._workspace.sweep(operation.path)
        now = self._digest(operation.path)
        if now == intent.was:
            return self.carry_out(operation, operation_id)
        if now != intent.becomes:
            return self._outcomes.failed(operation, operation_id, _UNKNOWN)
        return self._outcomes.done(operation, operation_id, **_made(operation))

    def _do(self, operation: Change | Quiet) -> dict[str, object]:
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

    def _seen(self, path: str) -> tuple[bytes | None, str]:
        """A file's content as far as there is one, and why it cannot be seen."""
        try:
            return self._workspace.read(path, limit=self._limit), ""
        except WorkspaceError as error:
            return None, "" if error.code == "not_found" else error.text

    def _digest(self, path: str) -> bytes | None:
        return fingerprint(self._workspace, path, limit=self._limit)


def _made(operation: Change) -> dict[str, object]:
    """What the event of a change says that had been made before the kill."""
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
