"""HTML that cannot be broken out of: text becomes markup here alone, and is escaped on its way (C10)."""

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
"""What can stand in an element: markup as it is, any other text escaped."""


def text(content: Content) -> Markup:
    """The text as markup; what a browser or a terminal would obey stands in it as a visible sign."""
    return content if isinstance(content, Markup) else Markup(escape(printable(content), quote=True))


def joined(parts: Iterable[Content]) -> Markup:
    """The parts one after the other."""
    return Markup("".join(map(text, parts)))


def element(name: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """An element; an attribute's name may end in `_` and has `_` for `-`, one that is None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>" if name in _VOID else f"<{name}{written}>{joined(content)}</{name}>")
