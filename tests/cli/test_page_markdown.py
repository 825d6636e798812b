"""Test Markdown on the page: it yields only the listed elements, for any text."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given

from codex_adapter.cli.view.page import page
from codex_adapter.cli.view.page_markdown import MarkdownPage
from codex_adapter.testing.thread_lines import agent_message, reasoning, turn_completed, turn_started
from tests.widths import thinned

from .journal_lines import journal, records, runs
from .markdown_texts import EVERYTHING, PIECES, slow_texts
from .page_reader import PageReader, read_page
from .test_page import HOSTILE, LONG, assert_harmless

pytestmark = pytest.mark.rule("C18", "C10")

MARKUP = """\
<h4>Result</h4>\
<p>Fixed <em>one</em> and <strong>two</strong>, <s>not three</s>, in <code>guard.py</code>: \
<a href="https://example.org/a?b=c" rel="noreferrer nofollow">the docs</a> (https://example.org/a?b=c), \
<a href="https://auto.example" rel="noreferrer nofollow">https://auto.example</a>,<br>\
guard (/w/guard.py:12) on its own line.</p>\
<h5>Steps</h5>\
<ul><li>first<ul><li>inner</li></ul></li></ul>\
<ol><li>one</li><li>two</li></ol>\
<blockquote><p>quoted</p></blockquote>\
<pre class="wide" role="region" tabindex="0" aria-label="Code"><code>def f(x): return x
</code></pre>\
<div class="wide" role="region" tabindex="0" aria-label="Table"><table>\
<thead><tr><th>name</th><th class="right">count</th></tr></thead>\
<tbody><tr><td>left</td><td class="right">42</td></tr></tbody></table></div>\
<hr>"""


def shown(*texts: str) -> PageReader:
    """The page of a run in which the agent thinks and says these texts."""
    said = [(1, agent_message(f"a{number}", text)) for number, text in enumerate(texts)]
    lines = [(0, turn_started()), (1, reasoning("r", texts[0])), *said, (1, turn_completed())]
    return read_page(page(runs(journal(records(lines)))))


def test_everything_becomes_elements() -> None:
    assert MarkdownPage()(EVERYTHING) == MARKUP
    assert_harmless(shown(EVERYTHING))


def test_thoughts_are_markdown_too() -> None:
    names = [name for name, _ in shown("**Plan**\n\n- `x`").elements]
    assert (names.count("strong"), names.count("ul")) == (2, 2)


def test_a_list_begins_with_its_number() -> None:
    assert MarkdownPage()("7. a\n8. b") == '<ol start="7"><li>a</li><li>b</li></ol>'


@given(PIECES)
def test_whatever_an_agent_says_is_harmless(text: str) -> None:
    assert_harmless(read_page(f"<!doctype html><div>{MarkdownPage()(text) or ''}</div>".encode()))


@pytest.mark.parametrize("text", [HOSTILE, LONG, *thinned(slow_texts(4096).values(), 4)])
def test_hostile_messages_are_harmless(text: str) -> None:
    reader = shown(text)
    assert_harmless(reader)
    assert len(reader.elements) <= 20 * len(text)


def test_an_attribute_cannot_be_broken_out_of() -> None:
    for text in ('[x](http://a/"onclick=alert(1))', "[x](<http://a/' onclick='alert(1)>)", '[x](http://a "t\\" id=x")'):
        reader = shown(text)
        assert_harmless(reader)
        assert {"onclick", "title"}.isdisjoint(name for _, told in reader.elements for name in told)


def test_a_message_that_is_not_parsed_is_text_as_it_was() -> None:
    text = "> " * 100 + "*x*\n  y"
    reader = shown(text)
    assert text in reader.text
    assert "prose" in reader.values("class")


def test_a_page_parses_no_more_than_its_share() -> None:
    markdown = MarkdownPage(most=100)
    assert [markdown(text) is not None for text in ("*a*" * 30, "*b*" * 4, "*c*", "*d*")] == [True, False, True, True]


@pytest.mark.rule("P2")
def test_without_the_package_messages_are_text_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "codex_adapter.cli.view.page_markdown", None)
    reader = shown(EVERYTHING)
    assert EVERYTHING.strip("\n") in reader.text
    assert {"strong", "pre", "h4"}.isdisjoint(name for name, _ in reader.elements)
