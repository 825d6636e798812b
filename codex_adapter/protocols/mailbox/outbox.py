"""Render an outbox file, which has all that a model needs to continue a task (I6 to I8)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
from typing_extensions import override

from codex_adapter.protocols.mailbox.instructions import INSTRUCTIONS
from codex_adapter.protocols.mailbox.messages import CommandResult
from codex_adapter.protocols.mailbox.tags import WHITE_SPACE
from codex_adapter.workspace import Listing

__all__ = ["MOST_FILES", "OutboxContent", "RequestedFile", "escape_controls", "render_outbox"]

MOST_FILES: Final = 2000
"""The limit of listed files (I7)."""
_CONTINUE: Final = (
    "Continue working on the task based on the results above. If the task is complete, send [DONE] with a summary."
)
_NO_NEWLINE: Final = "\\ No newline at end of file"
# C0, DEL, C1, characters that change the direction of text, two line separators, byte order marks, surrogates.
_CONTROL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_MARKER: Final = r"=== (?:HEADER|PROTOCOL|CONTEXT|PROMPT) ==="
_WITHIN_LINE: Final = WHITE_SPACE.replace("\n", "")


class RequestedFile(NamedTuple):
    """A file that the model requested. If `content` is None, `remark` has the reason."""

    path: str
    content: str | None
    remark: str = ""


class OutboxContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content that differs from one outbox file to another."""

    session: str
    sequence: int
    task: str
    listing: Listing
    results: Sequence[CommandResult] = ()
    requested: Sequence[RequestedFile] = ()

    @override
    def __repr__(self) -> str:
        """Return no content, which may be secret (X1)."""
        return "OutboxContent(...)"


def render_outbox(outbox: OutboxContent) -> str:
    """Return the text of the file, which ends with a newline and can be encoded as UTF-8 (I6 to I8)."""
    sections = {
        "HEADER": _header(outbox),
        "PROTOCOL": INSTRUCTIONS,
        "CONTEXT": "\n\n".join(_context(outbox)),
        "PROMPT": _escaped(outbox.task) if outbox.sequence == 1 else _CONTINUE,
    }
    text = "\n\n".join(f"=== {name} ===\n{content}" for name, content in sections.items())
    return f"{text}\n".encode(errors="backslashreplace").decode()


def escape_controls(text: str, *, lines: bool = False) -> str:
    """Return the text with control and other invisible characters as `\\x1b` or `\\u202e`.

    With `lines`, newlines and tabs stay. Text that looks like an escape stays as it is (I8).
    """

    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        if lines and match[0] in "\n\t":
            return match[0]
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

    return _CONTROL.sub(escape, text)


def _header(outbox: OutboxContent) -> str:
    task = outbox.task.replace("\n", "\n  ")
    return f"Session: {outbox.session}\nSequence: {outbox.sequence}\nTask: {task}"


def _context(outbox: OutboxContent) -> Iterator[str]:
    """Yield the parts of the section. An empty line separates them in the file."""
    yield "\n".join(["## Workspace Files", *_files(outbox.listing)])
    if outbox.sequence > 1:
        results = [line for result in outbox.results for line in _result(result)]
        yield "\n".join(["## Previous Command Results", *(results or ["(none)"])])
    if outbox.requested:
        first, *others = map(_content, outbox.requested)
        yield f"## Requested File Contents\n{first}"
        yield from others


def _files(listing: Listing) -> Iterator[str]:
    for entry in listing.files[:MOST_FILES]:
        yield f"  {escape_controls(entry.path)} ({entry.size} bytes)"
    more = len(listing.files) - MOST_FILES
    missing = [
        *([f"{more} more files"] if more > 0 else []),
        *([f"{listing.skipped} names that cannot be read"] if listing.skipped else []),
        *(["an unknown number of files, because the workspace has too many names"] if not listing.complete else []),
    ]
    if missing:
        yield f"(not listed: {'; '.join(missing)})"
    elif not listing.files:
        yield "(empty workspace)"


def _result(result: CommandResult) -> Iterator[str]:
    mark = "[OK]" if result.success else "[FAILED]"
    yield f"{mark} {escape_controls(result.command)}: {escape_controls(result.summary)}"
    if result.output:
        yield "  Output: " + escape_controls(result.output.removesuffix("\n"), lines=True).replace("\n", "\n    ")


def _content(requested: RequestedFile) -> str:
    path = escape_controls(requested.path)
    shown = f"({escape_controls(requested.remark)})\n" if requested.content is None else _shown(requested.content, path)
    return f"--- {path} ---\n{shown}--- end {path} ---"


def _shown(content: str, path: str) -> str:
    """Return the lines of a content.

    A single line in parentheses gets a backslash, or it would look like a remark.
    """
    if re.fullmatch(r"\\*+\(.*\)\n", content):
        return f"\\{content}"
    more = rf"--- end {re.escape(path)} ---|\\ No newline at end of file"
    missing = f"\n{_NO_NEWLINE}\n" if content and not content.endswith("\n") else ""
    return _escaped(content, more) + missing


def _escaped(text: str, more: str = "") -> str:
    """Return the text with a backslash before each line that is a marker of the format, or an escaped one."""
    markers = f"{_MARKER}|{more}" if more else _MARKER
    return re.sub(rf"^([{_WITHIN_LINE}]*+)(?=\\*(?:{markers})[{_WITHIN_LINE}]*+$)", r"\1\\", text, flags=re.MULTILINE)
