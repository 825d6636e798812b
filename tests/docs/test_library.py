"""Each public module has a page, and each public name one description."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from docs.generate.library import faces, library_pages
from docs.generate.markdown import without_ids

from ..rows import rows

pytestmark = pytest.mark.rule("DC4")


def test_the_public_modules_are_those_of_the_rule() -> None:
    assert {"codex_adapter", "codex_adapter.sync", "codex_adapter.testing"} <= faces().keys()
    assert library_pages().keys() == {"index.md", *(f"{face}.md" for face in faces())}


@rows("face", faces())
def test_each_name_is_on_the_page_of_its_module(face: str) -> None:
    page = library_pages()[f"{face}.md"]
    described = set(re.findall(rf"^::: {re.escape(face)}\.(\w+)$", page, re.MULTILINE))
    linked = set(re.findall(r"^\| `(\w+)` \| \[`[\w.]+`\]", page, re.MULTILINE))
    assert described | linked == set(import_module(face).__all__)
    assert described & linked == set()


def test_a_name_is_described_on_the_first_page_that_has_it() -> None:
    pages = library_pages()
    assert "::: codex_adapter.RunRequest" in pages["codex_adapter.md"]
    assert (
        "[`codex_adapter.RunRequest`](codex_adapter.md#codex_adapter.RunRequest)" in pages["codex_adapter.request.md"]
    )


def test_each_module_has_a_summary_of_its_own() -> None:
    rows = re.findall(r"^\| \[`([\w.]+)`\]\(\S+\) \| (.+) \|$", library_pages()["index.md"], re.MULTILINE)
    assert [face for face, _ in rows] == [*faces()]
    assert len({summary for _, summary in rows}) == len(rows)


def test_the_most_used_names_are_described_first() -> None:
    described = re.findall(r"^::: codex_adapter\.(\w+)$", library_pages()["codex_adapter.md"], re.MULTILINE)
    assert described[:4] == ["open_run", "collect", "RunRequest", "CodexConfig"]
    assert described[13:] == sorted(described[13:], key=str.casefold)


@rows(
    ("docstring", "shown"),
    [
        ("Return the events (D3).", "Return the events."),
        ("Bounded and masked (B4, X5); see the request.", "Bounded and masked; see the request."),
        ("Checked first (Q1 to Q3).", "Checked first."),
        ("The library (TK).", "The library."),
        ("An unreadable file (Y1,\nY2).", "An unreadable file."),
        ("A separator (U+2028) and JSON (RFC 8259).", "A separator (U+2028) and JSON (RFC 8259)."),
    ],
)
def test_ids_of_rules_are_left_out(docstring: str, shown: str) -> None:
    assert without_ids(docstring) == shown
