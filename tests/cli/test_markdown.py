"""Test the Markdown parser: bounded time, safe output, and no lost text."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it.token import Token

from codex_adapter.cli.present.markdown import LONGEST, parse_markdown, web_address
from tests.widths import thinned

from ..counting import calls
from ..rows import rows
from .markdown_texts import EVERYTHING, PIECES, slow_texts

pytestmark = pytest.mark.rule("C18")

KNOWN = set(
    re.findall(
        r"\S+",
        """
    paragraph_open paragraph_close heading_open heading_close inline text hardbreak em_open em_close strong_open
    strong_close s_open s_close code_inline link_open link_close bullet_list_open bullet_list_close ordered_list_open
    ordered_list_close list_item_open list_item_close blockquote_open blockquote_close fence code_block hr table_open
    table_close thead_open thead_close tbody_open tbody_close tr_open tr_close th_open th_close td_open td_close
    """,
    )
)
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
MOST_CALLS = 1000
"""Calls of a function for each character; what grows with the square of a text has many times more."""


def flat(tokens: list[Token]) -> list[Token]:
    """The tokens, and those of each line in their place."""
    return [inner for token in tokens for inner in (token.children if token.type == "inline" else [token]) or []]


def parsed(text: str) -> list[Token]:
    tokens = parse_markdown(text)
    assert tokens is not None
    return flat(tokens)


@given(PIECES)
def test_whatever_is_read_is_known_and_safe(text: str) -> None:
    for token in flat(parse_markdown(text) or []):
        assert token.type in KNOWN
        for value in (token.content, token.info, *token.attrs.values()):
            assert not OBEYED.search(str(value))
        address = web_address(token)
        assert address is None or re.match(r"(?i)https?://[!-~]*\Z", address)


@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "# ",
                    "- ",
                    "1. ",
                    "> ",
                    "    ",
                    "*",
                    "**",
                    "_",
                    "`ab`",
                    "~~c~~",
                    "\n",
                    "\n\n",
                    "\\",
                    "&lt;",
                    "ab",
                    " c ",
                ),
                *(
                    "|-|\n",
                    "|ab|\n|-|\n",
                    "|a|b|\n|:-|-:|\n|c|",
                    "|",
                    "[",
                    "]",
                    "](9)",
                    "![",
                    "[a]: b",
                    "<b>",
                    "==",
                    "---\n",
                ),
            ]
        )
    )
)
@example(["|ab|\n|-|\n", "| c ", "| ab "])
@example(["- " * 30, "ab"])
@example(["> " * 30, "ab"])
@example(["[a]: b", "\n\n", "ab"])
def test_no_word_is_lost(pieces: list[str]) -> None:
    text = "".join(pieces)
    tokens = parse_markdown(text)
    if tokens is not None and not re.search("`{3}|~{3}", text):  # what follows them is the name of a language
        shown = "".join(token.content for token in flat(tokens))
        assert re.findall("[a-c]", shown) == re.findall("[a-c]", text)


def test_everything_is_read() -> None:
    types = {token.type for token in parsed(EVERYTHING)}
    assert types >= {"heading_open", "em_open", "strong_open", "s_open", "code_inline", "link_open", "blockquote_open"}
    assert types >= {"bullet_list_open", "ordered_list_open", "fence", "table_open", "hr", "hardbreak"}


@rows(
    ("text", "shown"),
    [
        ("[docs](https://example.org)", "docs (https://example.org)"),
        ("<https://example.org>", "https://example.org"),
        ("[guard](</w/é a.py:12>)", "guard (/w/é a.py:12)"),
        ("[https://bank.example](https://evil.example)", "https://bank.example (https://evil.example)"),
        ("[х](https://х.example)", "х (https://xn--u1a.example)"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](data:text/html;base64,eA==)", "[x](data:text/html;base64,eA==)"),
        ("![x](https://example.org/a.png)", "!x (https://example.org/a.png)"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("[a]: https://example.org", "[a]: https://example.org"),
        ("one\ntwo", "one\ntwo"),
    ],
)
def test_what_a_link_leads_to_is_shown_and_what_is_unsafe_is_text(text: str, shown: str) -> None:
    words = ["\n" if token.type == "hardbreak" else token.content for token in parsed(text)]
    assert "".join(words) == shown


def test_only_the_web_is_linked() -> None:
    for target in ("/etc/passwd", "#r1-s1", "//evil.example", "ftp://x", "mailto:a@b", "vscode://x", "https:x"):
        assert [web_address(token) for token in parsed(f"[x]({target})")] == [None] * len(parsed(f"[x]({target})"))
    assert "HTTPS://example.org" in [web_address(token) for token in parsed("[x](HTTPS://example.org)")]


@rows("text", ["", " \n", ">", "> > >", "```", "-", "> " * 10_000 + "x", "*" * 99 + "x" + "*" * 99])
def test_what_would_not_be_seen_is_shown_as_it_is(text: str) -> None:
    assert parse_markdown(text) is None


def test_long_texts_are_not_parsed() -> None:
    assert parse_markdown("*a*" + "b" * (LONGEST - 3)) is not None
    assert calls(lambda: parse_markdown("*a*" + "b" * 2**20)) < 10


@pytest.mark.parametrize("name", thinned(slow_texts(64), 4))
def test_the_work_is_in_proportion_to_the_text(name: str) -> None:
    parse_markdown("x")  # what is made once
    for size in (1024, 8192):
        text = slow_texts(size)[name]
        assert calls(lambda text=text: parse_markdown(text)) <= MOST_CALLS * len(text), size  # type: ignore[misc]


def test_a_small_text_does_not_make_many_cells() -> None:
    for name in ("wide table", "many wide tables", "many cells"):
        assert len(parse_markdown(slow_texts(LONGEST)[name][:LONGEST]) or ()) < 50_000
