"""Read a page strictly: bad nesting and unexpected elements are errors."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final

from typing_extensions import override

__all__ = ["PageReader", "read_page"]

_VOID: Final = frozenset({"meta", "br", "hr"})


class PageReader(HTMLParser):
    """What is on a page: its elements with their attributes, its text, its style, all in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.style = ""
        self.open: list[str] = []
        self.others: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} is there twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)
        elif tag == "br":
            self.texts.append("\n")

    @override
    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        raise AssertionError(f"{tag} ends as in XML")

    @override
    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            self.style += data
        else:
            self.texts.append(data)

    @override
    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    @override
    def handle_decl(self, decl: str) -> None:
        self.others.append(decl)

    @override
    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    @override
    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    @property
    def text(self) -> str:
        """All text but the style."""
        return "".join(self.texts)

    def values(self, attribute: str) -> list[str | None]:
        """The values of an attribute, wherever it is."""
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]


def read_page(page: bytes) -> PageReader:
    """The page, which must be whole."""
    reader = PageReader()
    reader.feed(page.decode())
    reader.close()
    assert reader.open == []
    assert reader.others == ["doctype html"]
    return reader
