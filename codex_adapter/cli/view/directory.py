"""Execute `codex-adapter view DIR`: show the runs of a directory of journals as a table, a page or records (C21)."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

import trio

from codex_adapter.cli.errors import UsageError, report_error
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.views import line_printer
from codex_adapter.cli.view.index_text import cut_beginning, index_lines, remarks_on, width_of
from codex_adapter.cli.view.journal_index import Index, read_index
from codex_adapter.records import encode_lines

__all__ = ["index_page_of", "is_directory", "show_index"]

_UNREADABLE = "DIR cannot be read. Specify the path of a directory of journals"
_NO_JOURNAL = (
    "DIR ({}) contains no journal. If it is the directory of `serve --journal`, no run was accepted yet: a refused "
    "`run/start` leaves no file. Otherwise, specify that directory"
)
_LONGEST_PATH: Final = 200

_AT_ONCE: Final = 100
"""The number of rows that are encoded at a time."""


async def is_directory(path: str) -> bool:
    """Return whether a path is a directory. A cancellation does not wait for a file system that does not answer."""
    return path != "-" and await trio.to_thread.run_sync(os.path.isdir, path, abandon_on_cancel=True)


async def show_index(directory: str, output: Output, *, for_program: bool) -> None:
    """Write the runs of a directory, as records or as a table. Raise `UsageError` if it has none."""
    index, _, remarks = await _read_in_thread(_read, directory)
    if for_program:
        for start in range(0, len(index.rows), _AT_ONCE):
            if not await output.write(encode_lines(index.rows[start : start + _AT_ONCE])):
                break
    else:
        lines = index_lines(index, width_of(output.fd) if output.is_terminal else None)
        await output.write(line_printer(output, unbroken=True)(lines))
    for remark in remarks:
        report_error(remark)


async def index_page_of(directory: str, out: str) -> tuple[bytes, list[str]]:
    """Return the page of a directory for the file `out`, and remarks about it.

    Raise `UsageError` if the directory has no journal.
    """
    _, page, remarks = await _read_in_thread(_page, directory, out)
    return page, remarks


def _read(directory: str) -> tuple[Index, bytes, list[str]]:
    index = read_index(directory)
    return index, b"", list(remarks_on(index))


def _page(directory: str, out: str) -> tuple[Index, bytes, list[str]]:
    from codex_adapter.cli.view.page_index import index_page  # noqa: PLC0415 - for pages only

    index, _, remarks = _read(directory)
    pages = {name for name in os.listdir(directory) if name.endswith(".html")}  # noqa: PTH208 - they stay strings
    place = Path.cwd() if out == "-" else Path(out).resolve().parent
    above = os.path.relpath(Path(directory).resolve(), place)

    def page_of(journal: str) -> str | None:
        name = f"{journal.removesuffix('.jsonl')}.html"
        return quote(f"{above}/{name}") if name in pages else None

    return index, index_page(index, remarks, page_of), remarks


async def _read_in_thread(
    read: Callable[..., tuple[Index, bytes, list[str]]], *words: str
) -> tuple[Index, bytes, list[str]]:
    try:
        found = await trio.to_thread.run_sync(partial(read, *words), abandon_on_cancel=True)
    except (OSError, ValueError):
        raise UsageError(_UNREADABLE) from None
    if not found[0].rows:
        raise UsageError(_NO_JOURNAL.format(cut_beginning(words[0], _LONGEST_PATH)))
    return found
