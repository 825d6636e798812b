"""Draw an agent's Markdown on a terminal with rich (C18)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from markdown_it.token import Token
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from rich.theme import Theme
from typing_extensions import override

from codex_adapter.cli.present.markdown import parse_markdown

__all__ = ["message"]

_NARROWEST: Final = 40
"""Columns of the narrowest terminal that has room for lists and tables."""
_NARROWEST_COLUMN: Final = 6
_THEME: Final = Theme(
    {
        **{f"markdown.h{level}": "bold" for level in range(2, 7)},
        "markdown.h1": "bold underline",
        "markdown.code": "cyan",
        "markdown.code_block": "cyan",
        "markdown.block_quote": "dim",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
        "markdown.table.header": "bold",
        "markdown.table.border": "dim",
        "markdown.hr": "dim",
    }
)


def message(text: str, style: str) -> RenderableType:
    """Return a renderable for a message, which must be safe text."""
    tokens = parse_markdown(text)
    return Text(text, style=style) if tokens is None else _Message(text, tokens, style)


class _Message:
    """A message as Markdown, or as plain text on a narrow terminal."""

    def __init__(self, text: str, tokens: list[Token], style: str) -> None:
        self._text = Text(text, style=style)
        self._markdown = _Markdown("", style=style, hyperlinks=False)
        self._markdown.parsed = [_without_links(token) for token in tokens]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width < _NARROWEST:
            yield self._text
            return
        with console.use_theme(_THEME):
            lines = console.render_lines(self._markdown, options, pad=False)
        for line in lines:
            yield from _without_end(line)
            yield Segment.line()


def _without_links(token: Token) -> Token:
    if token.children:
        token.children = [child for child in token.children if child.type not in ("link_open", "link_close")]
    return token


def _without_end(line: Iterable[Segment]) -> Iterator[Segment]:
    """Yield a line without the spaces at its end, which a narrower window would break."""
    spaces: list[Segment] = []
    for segment in line:
        if segment.text.isspace():
            spaces.append(segment)
            continue
        yield from spaces
        bare = segment.text.rstrip(" ")
        yield Segment(bare, segment.style)
        spaces = [Segment(segment.text[len(bare) :], segment.style)] if len(bare) < len(segment.text) else []


class _Heading(Heading):
    """A heading, aligned left like all other text."""

    @override
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Code(CodeBlock):
    """A block of code without syntax colours: the patterns that find them can take unlimited time."""

    @override
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        style = console.get_style("markdown.code_block")
        yield Padding(Text(self.text.plain.rstrip("\n"), style=style, overflow="fold"), (0, 0, 0, 2))


class _Table(TableElement):
    """A table that breaks long words and cuts nothing. If it does not fit, each row is a line of cells."""

    @override
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head = (
            [] if self.header is None or self.header.row is None else [cell.content for cell in self.header.row.cells]
        )
        rows = [] if self.body is None else [[cell.content for cell in row.cells] for row in self.body.rows]
        if len(head) * _NARROWEST_COLUMN > options.max_width:
            for row in [head, *rows]:
                yield Text(" | ").join(row)
            return
        drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, style="markdown.table.border")
        for heading in head:
            drawn.add_column(heading, overflow="fold", justify=heading.justify or "default")
        for row in rows:
            drawn.add_row(*row)
        yield drawn


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }
