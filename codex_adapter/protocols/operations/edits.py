"""Edit the content of a file: each edit replaces the first occurrence of its old text (O8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from codex_adapter.protocols.operations.operations import FileEdit

__all__ = ["EditFailed", "apply_edits"]

_MOST_BYTES: Final = 2 * 1024**3
"""The limit of bytes that one operation searches, about a second: it cannot be stopped."""


class EditFailed(Exception):
    """An edit's old text is not in the file, or the edits are too many. The message quotes nothing."""


def apply_edits(content: bytes, edits: Sequence[FileEdit]) -> bytes:
    """Return the content after all edits, one after the other (O8).

    Bytes are compared, so the rest of the file need not be text. An empty old text matches at the beginning of the
    file. Raises `EditFailed`.
    """
    searched = 0
    for number, edit in enumerate(edits):
        searched += len(content)
        if searched > _MOST_BYTES:
            raise EditFailed("edits: are too many for a file of this size. Send fewer edits. The file was not changed.")
        old = edit.old_content.encode()
        if old not in content:
            raise EditFailed(
                f"edits[{number}].oldContent is not in the file"
                + (" after the edits before it" if number else "")
                + ". Read the file and quote it exactly. The file was not changed."
            )
        content = content.replace(old, edit.new_content.encode(), 1)
    return content
