"""Read the files that a model requested, for the next outbox (I8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from codex_adapter.protocols.mailbox.outbox import RequestedFile
from codex_adapter.workspace import Workspace, WorkspaceError

__all__ = ["read_text", "requested_files"]

_MOST_OF_ONE: Final = 262_144
_MOST_OF_ALL: Final = 1_048_576


def read_text(workspace: Workspace, path: str) -> str:
    """Return the text of a file. Raises `WorkspaceError` if it cannot be shown."""
    try:
        content = workspace.read(path, limit=_MOST_OF_ONE)
    except WorkspaceError as error:
        if error.code != "too_large":
            raise
        problem = f"File is larger than {_MOST_OF_ONE} bytes. Read a part of it with RUN_COMMAND"
        raise WorkspaceError("too_large", problem) from None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise WorkspaceError("not_a_file", "File is not UTF-8 text. Read it with RUN_COMMAND")
    return text


def requested_files(workspace: Workspace, paths: Sequence[str]) -> list[RequestedFile]:
    """Return each file with its present content, or with the reason why it is not shown."""
    left = _MOST_OF_ALL
    found: list[RequestedFile] = []
    for path in paths:
        try:
            text = read_text(workspace, path)
        except WorkspaceError as error:
            found.append(RequestedFile(path, None, error.text))
            continue
        size = len(text.encode())
        if size > left:
            remark = f"not shown: all files together have more than {_MOST_OF_ALL} bytes. Request it again"
            found.append(RequestedFile(path, None, remark))
        else:
            left -= size
            found.append(RequestedFile(path, text))
    return found
