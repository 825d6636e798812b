"""An index of journals as one HTML page, which links the pages of its runs that are beside them (C21)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from codex_adapter.cli.index_view import labels_of, status_of, text_of, words_of
from codex_adapter.cli.journal_index import Index, JournalRow
from codex_adapter.cli.markup import Content, Markup, element
from codex_adapter.cli.page_document import document
from codex_adapter.cli.wording import amount, duration, tokens

__all__ = ["index_page"]

_COLUMNS: Final = ("Status", "Started", "Length", "Model", "Directory", "Labels", "Tokens", "Journal", "Text")


def index_page(index: Index, remarks: Sequence[str], page_of: Callable[[str], str | None]) -> bytes:
    """Return the page, as a file. `page_of` gives the relative URL of the page of a journal, None where it has none."""
    rows = [_row(row, page_of(row.file)) for row in index.rows]
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in _COLUMNS)))
    table = element("table", head, element("tbody", *rows))
    title = amount(len(rows), "run")
    heading = element("header", element("p", "Journals", class_="eyebrow"), element("h1", title, id="runs"))
    section = element("section", element("div", table, class_="wide"))
    return document(title, [element("article", heading, section, aria_labelledby="runs")], remarks)


def _row(row: JournalRow, page: str | None) -> Markup:
    file = element("code", words_of(row.file))
    started = "" if row.started is None else f"{row.started[:19].replace('T', ' ')} UTC"
    cells: list[Content] = [
        element("span", status_of(row), class_=f"mark {_outcome(row)}"),
        started,
        "" if row.seconds is None else duration(row.seconds),
        words_of(row.model or ""),
        words_of(row.working_dir or ""),
        labels_of(row.labels),
        "" if not row.usage else tokens(row.usage),
        file if page is None else element("a", file, href=page),
        element("span", text_of(row), dir="auto"),
    ]
    return element("tr", *(element("td", cell) for cell in cells))


def _outcome(row: JournalRow) -> str:
    if row.status == "completed":
        return "completed" if row.ok else "failed"
    return {"failed": "failed", "running": "open"}.get(row.status, "unanswered")
