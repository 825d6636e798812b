"""Read the code blocks of a Markdown page, with what each of them needs to be checked."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["ROOT", "Block", "all_pages", "read_blocks"]

ROOT: Final = Path(__file__).parents[2]
FENCE: Final = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<language>[\w+-]*)(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
MARK: Final = re.compile(r"<!-- (?P<name>exits|terminal|checked by|figure):? ?(?P<value>.*?) ?-->\s*\Z")
TITLE: Final = re.compile(r'title="([^"]+)"')
NAMED: Final = re.compile(r"\A(?:#|//) ([\w./-]+\.\w+)")
"""A first line that names the file which the block is, as `# program.py` does."""


class Block(NamedTuple):
    """A fenced block: where it is, its language and text, the file that it is, and the mark before it.

    `output` is true where nothing but white space stands between a block of commands and this one.
    """

    page: Path
    line: int
    language: str
    text: str
    file: str | None
    mark: str
    value: str
    output: bool
    span: tuple[int, int]
    indent: str

    @property
    def where(self) -> str:
        """Return the page and the line, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def all_pages() -> list[Path]:
    """Return every page whose blocks a reader may copy, except rules and generated pages."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
    for folder in ("docs", "examples", "contrib", "clients"):
        pages += sorted((ROOT / folder).rglob("*.md"))
    return pages


def read_blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in their order."""
    source, blocks, end = page.read_text(), list[Block](), 0
    for found in FENCE.finditer(source):
        text = textwrap.dedent(found["text"])
        before = source[end : found.start()]
        mark = MARK.search(before)
        title, named = TITLE.search(found["info"]), NAMED.match(text)
        output = found["language"] in ("text", "json") and not before.strip() and blocks != []
        blocks.append(
            Block(
                page=page,
                line=source.count("\n", 0, found.start()) + 1,
                language=found["language"],
                text=text,
                file=title[1] if title else named[1] if named else None,
                mark=mark["name"] if mark else "",
                value=mark["value"] if mark else "",
                output=output and blocks[-1].language == "sh",
                span=found.span("text"),
                indent=found["indent"],
            )
        )
        end = found.end()
    return blocks
