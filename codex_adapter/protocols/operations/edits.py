"""Edit a file's content: each edit replaces the first occurrence of its old text (O8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from codex_adapter.protocols.operations.operations import FileEdit

__all__ = ["EditFailed", "apply_edits"]

_MOST_BYTES: Final = 2 * 1024**3
"""The bytes read and written for one operation, which cannot be stopped: about a second."""


class EditFailed(Exception):
    """An edit's old text is not in the file, or there is too much; the message says where and quotes nothing."""


def apply_edits(content: bytes, edits: Sequence[FileEdit]) -> bytes:
    """Return the content after all edits, one after the other (O8).

    Bytes are compared, so the rest of the file need not be text; an empty old text matches at the beginning of the
    file. Raises `EditFailed`.
    """
    worked = 0
    for number, edit in enumerate(edits):
        worked += len(content)
        if worked > _MOST_BYTES:
            raise EditFailed("edits: are too many for a file of this size; send fewer. Nothing was changed.")
        old = edit.old_content.encode()
        if old not in content:
            raise EditFailed(
                f"edits[{number}].oldContent is not in the file"
                + (" after the edits before it" if number else "")
                + "; read the file and quote it exactly. Nothing was changed."
            )
        content = content.replace(old, edit.new_content.encode(), 1)
    return content
