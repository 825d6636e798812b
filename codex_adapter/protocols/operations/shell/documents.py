"""Find the text of a here-document."""

from __future__ import annotations

from codex_adapter.protocols.operations.shell.text import HereDocument, UnclearError

__all__ = ["document_text"]


def document_text(document: HereDocument, text: str, position: int) -> tuple[str, int]:
    """Return the text of the here-document that begins at `position`, and the position of the next line.

    Raises UnclearError if a line continuation makes the last line ambiguous.
    """
    lines: list[str] = []
    continued = False
    while position < len(text):
        line, newline, _ = text[position:].partition("\n")
        position += len(line) + len(newline)
        if document.strips_tabs:
            line = line.lstrip("\t")
        if line == document.delimiter and not continued:
            break
        continues = not document.quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
        if (continued and line == document.delimiter) or (continues and document.delimiter.startswith(line[:-1])):
            raise UnclearError("the end of a here-document is ambiguous")
        continued = continues
        lines.append(line + newline)
    return "".join(lines), position
