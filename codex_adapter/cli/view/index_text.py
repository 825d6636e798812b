"""Show an index of journals to a person, one line for each (C21)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from codex_adapter.cli.present.lines import Line, Tone, printable
from codex_adapter.cli.present.wording import amount, cost, duration, tokens
from codex_adapter.cli.view.journal_index import Index, JournalRow

__all__ = [
    "cut",
    "cut_beginning",
    "index_lines",
    "labels_of",
    "remarks_on",
    "status_of",
    "text_of",
    "width_of",
    "words_of",
]

_GAP: Final = "  "
_SIGN: Final = 2
_SHORTEST_TEXT: Final = 24
_LONGEST_TEXT: Final = 60
_LONGEST: Final = 28


class _Column(NamedTuple):
    """A column of the table. The column with the highest `dispensable` is removed first, a column with 0 never."""

    title: str
    cells: list[str]
    width: int
    dispensable: int


def index_lines(index: Index, width: int | None) -> list[Line]:
    """Return the lines of a table of at most `width` characters, or of any width with None."""
    rows = index.rows
    columns = [
        _column("STATUS", map(status_of, rows)),
        _column("STARTED", map(_format_start, rows), 1),
        _column("LENGTH", ("" if row.seconds is None else duration(row.seconds) for row in rows), 2),
        _column("MODEL", (cut(words_of(row.model or ""), _LONGEST) for row in rows), 5),
        _column("DIRECTORY", (cut_beginning(row.working_dir or "", _LONGEST) for row in rows), 6),
        _column("LABELS", (cut(labels_of(row.labels), _LONGEST) for row in rows), 4),
        _column("TOKENS", ("" if not row.usage else tokens(row.usage) for row in rows), 3),
        _column("COST", ("" if row.cost_usd is None else cost(row.cost_usd) for row in rows), 3),
        _column("FILE", (words_of(row.file) for row in rows)),
    ]
    columns = [column for column in columns if any(column.cells)]
    if width is not None:
        columns = _drop_columns(columns, width)
    room = _LONGEST_TEXT if width is None else max(width - _SIGN - _width_of(columns), 0)
    texts = [cut(text_of(row), room) for row in rows]
    head = _line([column.title for column in columns], columns, "TEXT" if room else "")
    body = [_line([column.cells[place] for column in columns], columns, text) for place, text in enumerate(texts)]
    tones: list[Tone] = ["notice", *map(_tone, rows)]
    # A name of a file is never cut, so that it can be copied. A narrow terminal wraps it.
    most = None if width is None else max(width - _SIGN, _width_of(columns))
    return [Line(tone, text[:most]) for tone, text in zip(tones, [head, *body], strict=True)]


def status_of(row: JournalRow) -> str:
    """Return the status of a run in one or two words."""
    status = {"completed": "ok" if row.ok else "not ok"}.get(row.status, row.status)
    return f"{status}, damaged" if row.damaged and row.status != "damaged" else status


def text_of(row: JournalRow) -> str:
    """Return the final text of a run, or why it failed and the next step, on one line."""
    return words_of(row.final_text or row.advice or row.hint or row.error or "")


def labels_of(labels: Mapping[str, str]) -> str:
    """Return labels on one line, such as `task=12 team=a`."""
    return " ".join(f"{words_of(name)}={words_of(value)}" for name, value in sorted(labels.items()))


def words_of(text: str) -> str:
    """Return a text on one line, without control characters."""
    return " ".join(printable(text).split())


def cut(text: str, most: int) -> str:
    """Return at most `most` characters of a text, with a sign if its end was cut off."""
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"[:most]


def cut_beginning(text: str, most: int) -> str:
    """Return at most `most` characters of a text on one line, with a sign if its beginning was cut off."""
    text = words_of(text)
    return text if len(text) <= most else f"…{text[1 - most :]}"


def remarks_on(index: Index) -> Iterator[str]:
    """Yield remarks about the whole index."""
    if index.left_out:
        yield f"{amount(index.left_out, 'older journal was', 'older journals were')} skipped."


def width_of(fd: int) -> int | None:
    """Return the number of characters in a line of a terminal, None for anything else."""
    with suppress(OSError):
        return os.get_terminal_size(fd).columns or None
    return None


def _tone(row: JournalRow) -> Tone:
    if row.status == "completed":
        return "ok" if row.ok else "failed"
    return {"failed": "failed", "running": "started"}.get(row.status, "warning")  # type: ignore[return-value]


def _format_start(row: JournalRow) -> str:
    return "" if row.started is None else row.started[:16].replace("T", " ")


def _drop_columns(columns: list[_Column], width: int) -> list[_Column]:
    while _SIGN + _width_of(columns) + _SHORTEST_TEXT > width and any(column.dispensable for column in columns):
        columns = [column for column in columns if column is not max(columns, key=lambda each: each.dispensable)]
    return columns


def _column(title: str, cells: Iterable[str], dispensable: int = 0) -> _Column:
    texts = list(cells)
    return _Column(title, texts, max(len(title), *map(len, texts)), dispensable)


def _width_of(columns: Sequence[_Column]) -> int:
    return sum(column.width + len(_GAP) for column in columns)


def _line(cells: Sequence[str], columns: Sequence[_Column], text: str) -> str:
    padded = [cell.ljust(column.width) for cell, column in zip(cells, columns, strict=True)]
    return _GAP.join([*padded, text]).rstrip()
