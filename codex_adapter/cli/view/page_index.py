"""Build an index of journals as one HTML page, with links to the pages of runs beside them (C21)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from codex_adapter.cli.present.html import Content, Markup, element
from codex_adapter.cli.present.wording import amount, cost, duration, tokens
from codex_adapter.cli.view.index_text import cut, cut_beginning, labels_of, status_of, text_of, words_of
from codex_adapter.cli.view.journal_index import Index, JournalRow
from codex_adapter.cli.view.page_document import document

__all__ = ["index_page"]

_LONGEST: Final = 48
"""The limit of characters in a cell that does not wrap."""
_LONGEST_LABELS: Final = 120


class _Column(NamedTuple):
    """A column of the table. With `wraps`, its cells wrap between words."""

    title: str
    cells: list[Content]
    wraps: bool = False


def index_page(index: Index, remarks: Sequence[str], page_of: Callable[[str], str | None]) -> bytes:
    """Return the page as a file. `page_of` returns the relative URL of the page of a journal, None without a page."""
    rows = index.rows
    columns = [column for column in _columns(rows, page_of) if any(column.cells)]
    head = element("thead", element("tr", *(_cell("th", column.title, column, scope="col") for column in columns)))
    body = (
        element("tr", *(_cell("td", column.cells[place], column) for column in columns)) for place in range(len(rows))
    )
    table = element("table", head, element("tbody", *body), class_="index")
    title = amount(len(rows), "run")
    heading = element("header", element("p", "Journals", class_="eyebrow"), element("h1", title, id="runs"))
    box = element("div", table, class_="wide", role="region", tabindex="0", aria_labelledby="runs")
    article = element("article", heading, element("section", box), aria_labelledby="runs")
    return document(title, [article], remarks)


def _columns(rows: Sequence[JournalRow], page_of: Callable[[str], str | None]) -> list[_Column]:
    return [
        _Column("Status", [element("span", status_of(row), class_=f"mark {_outcome(row)}") for row in rows]),
        _Column("Started", [_format_start(row) for row in rows]),
        _Column("Length", ["" if row.seconds is None else duration(row.seconds) for row in rows]),
        _Column("Model", [cut(words_of(row.model or ""), _LONGEST) for row in rows]),
        _Column("Directory", [cut_beginning(row.working_dir or "", _LONGEST) for row in rows]),
        _Column("Labels", [cut(labels_of(row.labels), _LONGEST_LABELS) for row in rows], wraps=True),
        _Column("Tokens", [tokens(row.usage) if row.usage else "" for row in rows]),
        _Column("Cost", ["" if row.cost_usd is None else cost(row.cost_usd) for row in rows]),
        _Column("Journal", [_file(row, page_of(row.file)) for row in rows]),
        _Column("Text", [_text(row) for row in rows], wraps=True),
    ]


def _cell(name: str, content: Content, column: _Column, scope: str | None = None) -> Markup:
    return element(name, content, scope=scope, class_="words" if column.wraps else None)


def _format_start(row: JournalRow) -> str:
    return "" if row.started is None else f"{row.started[:19].replace('T', ' ')} UTC"


def _file(row: JournalRow, page: str | None) -> Markup:
    file = element("code", words_of(row.file))
    return file if page is None else element("a", file, href=page)


def _text(row: JournalRow) -> Content:
    text = text_of(row)
    return element("span", text, dir="auto") if text else ""


def _outcome(row: JournalRow) -> str:
    if row.status == "completed":
        return "completed" if row.ok else "failed"
    return {"failed": "failed", "running": "open"}.get(row.status, "unanswered")
