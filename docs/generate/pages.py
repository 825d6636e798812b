"""Collect all generated and included pages, and arrange the navigation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from docs.generate.commands import command_names, command_pages
from docs.generate.hints import hints_page
from docs.generate.included import included_pages
from docs.generate.library import faces, library_pages
from docs.generate.wire import PAGES as WIRE_PAGES
from docs.generate.wire import wire_pages

__all__ = ["generated_pages", "generated_places", "navigation", "with_lists"]

_LINK: Final = re.compile(r"\]\(([\w./-]+\.md)(?:#[^)]*)?\)")
_LIST: Final = re.compile(r"^<!-- pages: ([\w-]+) -->$", re.MULTILINE)
_SECTIONS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "Tutorials": ("tutorials", ()),
    "How-to guides": ("how-to", ("from-the-official-sdk.md",)),
    "Reference": ("reference", ("releases.md", "releases-claude-code.md", "releases-pi.md")),
    "Explanation": ("explanation", ("architecture.md", "performance.md", "floor.md")),
    "Rules": ("rules", ()),
    "Project": ("project", ()),
}
"""Each section with its folder, and the pages beside docs/index.md that belong to it."""
_FOLDERS: Final = {"commands": "Commands", "library": "Library", "wire": "Wire formats"}


def generated_pages() -> Mapping[str, str]:
    """Return the pages that are not files in docs/, by their place on the site."""
    pages = {
        **{f"commands/{name}": text for name, text in command_pages().items()},
        **{f"library/{name}": text for name, text in library_pages().items()},
        **{f"wire/{name}": text for name, text in wire_pages().items()},
        "hints.md": hints_page(),
    }
    return {**{f"reference/{name}": text for name, text in pages.items()}, **included_pages()}


def generated_places() -> set[str]:
    """Return the places of the pages in the reference that are generated, without generating them."""
    pages = {"commands": command_names(), "library": faces(), "wire": WIRE_PAGES}
    places = {f"{folder}/{name}.md" for folder, names in pages.items() for name in (*names, "index")}
    return {f"reference/{place}" for place in (*places, "hints.md")}


def navigation(pages: Mapping[str, str]) -> list[Any]:
    """Return the navigation for all pages, which are texts by their places, in the form of MkDocs.

    The pages of a folder are in the order in which its `index.md` links them, then by name.
    """
    nav: list[Any] = [{"Home": "index.md"}]
    for title, (folder, beside) in _SECTIONS.items():
        entries = [*_folder(folder, pages), *(page for page in beside if page in pages)]
        if entries:
            nav.append({title: entries})
    placed = {*_places(nav)}
    if forgotten := sorted(pages.keys() - placed):
        raise ValueError(f"these pages are in no folder of a section: {', '.join(forgotten)}")
    return nav


def with_lists(text: str, texts: Callable[[], Mapping[str, str]]) -> str:
    """Return a page of docs/ with links to the pages of a folder in the place of each comment `<!-- pages: FOLDER -->`.

    `texts` returns the text of every page by its place.
    """

    def listed(comment: re.Match[str]) -> str:
        pages = texts()
        title = next(title for title, (folder, _) in _SECTIONS.items() if folder == comment[1])
        entries = [entry for section in navigation(pages) for entry in section.get(title, ())]
        places = [place for place in _places(entries) if place != f"{comment[1]}/index.md"]
        return "\n".join(f"- [{_title(pages[place])}]({place})" for place in places)

    return _LIST.sub(listed, text)


def _title(text: str) -> str:
    return next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))


def _folder(folder: str, pages: Mapping[str, str]) -> list[Any]:
    inside = [page.removeprefix(f"{folder}/") for page in pages if page.startswith(f"{folder}/")]
    index = pages.get(f"{folder}/index.md", "")
    order = ["index.md", *_LINK.findall(index)]
    names = {name.partition("/")[0] for name in inside}

    def key(name: str) -> tuple[int, str]:
        links = [link for link in order if link == name or link.startswith(f"{name}/")]
        return (order.index(links[0]) if links else len(order)), name

    found: list[Any] = []
    for name in sorted(names, key=key):
        stem = name.removesuffix(".md")
        if stem.startswith("codex_adapter."):
            # The whole name of a module is too long for the navigation.
            found.append({stem.removeprefix("codex_adapter."): f"{folder}/{name}"})
        elif name.endswith(".md"):
            found.append(f"{folder}/{name}")
        else:
            found.append({_FOLDERS.get(name, name.capitalize()): _folder(f"{folder}/{name}", pages)})
    return found


def _places(nav: Iterable[Any]) -> Iterable[str]:
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for value in entry.values():
                yield from _places([value] if isinstance(value, str) else value)
