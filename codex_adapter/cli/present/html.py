"""Build HTML that cannot be injected: only this module converts text to markup, and it escapes all text (C10)."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias

from codex_adapter.cli.present.lines import printable

__all__ = ["Content", "Markup", "element", "joined", "text"]

_VOID: Final = frozenset({"meta", "br", "hr"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content: TypeAlias = str | Markup
"""The content of an element: markup is used unchanged, any other text is escaped."""


def text(content: Content) -> Markup:
    """Return text as markup, with a visible sign for each control character."""
    return content if isinstance(content, Markup) else Markup(escape(printable(content), quote=True))


def joined(parts: Iterable[Content]) -> Markup:
    """Return the parts as one markup text."""
    return Markup("".join(map(text, parts)))


def element(name: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """Return an element. In names of attributes, `_` stands for `-` and is removed at the end; None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>" if name in _VOID else f"<{name}{written}>{joined(content)}</{name}>")
