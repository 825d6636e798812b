"""Convert an agent's Markdown to markup for the page: only elements in this module can be on it (C18, C10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from markdown_it.token import Token

from codex_adapter.cli.present.html import Content, Markup, element, joined
from codex_adapter.cli.present.lines import printable
from codex_adapter.cli.present.markdown import parse_markdown, web_address

__all__ = ["MarkdownPage"]

_MOST_CHARACTERS: Final = 1_000_000
"""The limit for all messages of one page, whose conversion takes a few seconds."""
_NAMES: Final = {
    **{name: name for name in ("p", "ul", "ol", "li", "blockquote", "thead", "tbody", "tr", "th", "td")},
    **{name: name for name in ("em", "strong", "s")},
    # The page itself uses the first three levels.
    **{"h1": "h4", "h2": "h5", "h3": "h6", "h4": "h6", "h5": "h6", "h6": "h6"},
}
"""The element for each tag."""
_ALIGNED: Final = {"text-align:right": "right", "text-align:center": "center"}


class MarkdownPage:
    """A conversion of the messages of one page to markup, up to `most` characters."""

    def __init__(self, most: int = _MOST_CHARACTERS) -> None:
        self._left = most

    def __call__(self, text: str) -> Markup | None:
        """Return the markup of a message, or None for a message that must be shown as plain text."""
        if len(text) > self._left:
            return None
        self._left -= len(text)
        tokens = parse_markdown(printable(text))
        return None if tokens is None else _markup(tokens)


def _markup(tokens: Iterable[Token]) -> Markup:
    """Return the markup of tokens, which must be balanced."""
    opened: list[Token] = []
    contents: list[list[Content]] = [[]]
    for token in tokens:
        if token.nesting > 0:
            opened.append(token)
            contents.append([])
        elif token.nesting < 0:
            content = joined(contents.pop())
            contents[-1].append(_element(opened.pop(), content))
        else:
            contents[-1].append(_leaf(token))
    return joined(contents[0])


def _element(token: Token, content: Markup) -> Markup:
    if token.hidden:
        return content  # a paragraph in a tight list
    match token.tag:
        case "a":
            address = web_address(token)
            return content if address is None else element("a", content, href=address, rel="noreferrer nofollow")
        case "table":
            return _make_scroll_box("div", element("table", content), "Table")
        case "th" | "td":
            return element(_NAMES[token.tag], content, class_=_ALIGNED.get(str(token.attrs.get("style"))))
        case "ol":
            return element("ol", content, start=_start(token))
    name = _NAMES.get(token.tag)
    return content if name is None else element(name, content)


def _leaf(token: Token) -> Content:
    match token.type:
        case "inline":
            return _markup(token.children or ())
        case "hardbreak":
            return element("br")
        case "hr":
            return element("hr")
        case "code_inline":
            return element("code", token.content)
        case "fence" | "code_block":
            return _make_scroll_box("pre", element("code", token.content), "Code")
    return token.content


def _start(token: Token) -> str | None:
    start = token.attrs.get("start")
    return None if start is None else str(start)


def _make_scroll_box(name: str, content: Markup, label: str) -> Markup:
    """Return a box that scrolls separately, also with the keyboard."""
    return element(name, content, class_="wide", role="region", tabindex="0", aria_label=label)
