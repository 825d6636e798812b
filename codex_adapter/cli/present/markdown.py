"""Parse the Markdown of an agent into tokens that are safe to show, in bounded time (C18)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import escapedSplit, table
from markdown_it.token import Token

from codex_adapter.cli.present.lines import printable

__all__ = ["LONGEST", "parse_markdown", "web_address"]

LONGEST: Final = 32_768
"""Characters of the longest text that is parsed."""
_DEEPEST: Final = 20
"""Levels of nesting. The parser drops what is nested deeper, so a text that reaches this depth is not used."""
_MOST_CELLS: Final = 10_000
"""Table cells of one text: a row of two characters makes a cell for each column of its table."""
_WEB: Final = re.compile("https?://", re.IGNORECASE)


def parse_markdown(text: str) -> list[Token] | None:
    """Return the tokens of a text, or None for a text that must be shown as it is.

    No token is raw HTML or an image, and none contains a control character. A line break stays a line break. The target
    of a link follows the link as text, so that a reader sees where it leads. Return None for a text that is too long,
    nested too deeply, or invisible.
    """
    if len(text) > LONGEST:
        return None
    tokens = _parser().parse(text, {"cells": 0})
    if not _is_shallow(tokens):
        return None
    for token in tokens:
        _clean(token)
        token.children = None if token.children is None else list(_inline(token.children))
    return tokens if any(token.content.strip() or token.type == "hr" for token in tokens) else None


def web_address(token: Token) -> str | None:
    """Return the address to which the start of a link may lead, or None for a path or another scheme."""
    target = str(token.attrs.get("href", ""))
    return target if _WEB.match(target) else None


@cache
def _parser() -> MarkdownIt:
    # References are off: a definition disappears from the text, and each use of it repeats its target.
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"]).disable(["reference", "image", "html_block", "html_inline"])
    parser.block.ruler.at("table", _parse_bounded_table, {"alt": ["paragraph", "reference"]})
    parser.normalizeLink = _target  # type: ignore[method-assign,assignment] # documented
    return parser


def _target(address: str) -> str:
    """Escape a web address, and leave a path readable."""
    return normalizeLink(address) if _WEB.match(address) else address


def _parse_bounded_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table, unless it would lose a cell or the text has too many cells. Then it stays text."""
    if state.env["cells"] > _MOST_CELLS or not table(state, start, end, True):
        return False
    if silent:
        return True
    last = start
    while last < end and not state.isEmpty(last):
        last += 1
    columns = _columns(state, start + 1)
    state.env["cells"] += columns * (last - start)
    if state.env["cells"] > _MOST_CELLS or any(_columns(state, line) > columns for line in range(start + 2, last)):
        return False  # cells beyond the columns of the head would not be shown
    return table(state, start, end, False)


def _columns(state: StateBlock, line: int) -> int:
    cells = escapedSplit(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip())
    return len(cells) - (cells[0] == "") - (len(cells) > 1 and cells[-1] == "")


def _is_shallow(tokens: list[Token]) -> bool:
    """Return whether nothing is nested so deeply that the parser would drop it."""
    depth = 0
    for token in _all(tokens):
        depth += token.nesting
        if max(depth, token.level) >= _DEEPEST - 1:
            return False
    return True


def _all(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _clean(token: Token) -> None:
    """Replace control characters, which an entity can contain."""
    token.content, token.info = printable(token.content), printable(token.info)
    token.attrs = {name: _clean_value(value) for name, value in token.attrs.items()}


def _clean_value(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value


def _inline(tokens: list[Token]) -> Iterator[Token]:
    """Yield the tokens of a line, with the target after each link whose text is not the target."""
    target, shown = "", ""
    for token in tokens:
        _clean(token)
        if token.type == "softbreak":
            token.type, token.tag = "hardbreak", "br"
        elif token.type == "link_open":
            target, shown = str(token.attrs.get("href", "")), ""
        shown += token.content
        yield token
        if token.type == "link_close" and target and target != shown:
            yield Token("text", "", 0, content=f" ({target})", level=token.level)
