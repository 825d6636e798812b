"""Include pages of the repository that are not in docs/, and translate links between files to links on the site."""

from __future__ import annotations

import os.path
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["ROOT", "included_pages", "linked_files", "origin_of", "place_of", "translated", "with_rule_links"]

ROOT: Final = Path(__file__).parents[2]
_MOVED: Final[Mapping[str, str]] = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "clients/typescript/README.md": "project/typescript.md",
    "contrib/systemd/README.md": "project/systemd.md",
    "examples/README.md": "project/examples.md",
    "specs/README.md": "rules/index.md",
}
"""The place on the site of files that are not in docs/; rules keep their names."""
_LINK: Final = re.compile(r"(?P<before>\]\()(?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?(?P<after>\))")
_RULE: Final = re.compile(r"^### (?P<id>[A-Z]{1,2}[0-9]{1,2}) - .*$", re.MULTILINE)
_PLAIN: Final = re.compile(r"(`[^`]*`|\[[^\]]*\]\([^)]*\)|^#.*$|^    .*$)", re.MULTILINE)
"""What does not have references to rules: code, links and headings."""
_REFERENCE: Final = re.compile(r"\b[A-Z]{1,2}[0-9]{1,2}\b")
_FENCED: Final = re.compile(r"(^ *(`{3,}|~{3,}).*?^ *\2`*~*$\n?)", re.MULTILINE | re.DOTALL)


@cache
def _places() -> Mapping[str, str]:
    rules = {f"specs/{path.name}": f"rules/{path.name}" for path in sorted((ROOT / "specs").glob("*.md"))}
    return {**rules, **_MOVED}


@cache
def _origins() -> Mapping[str, str]:
    return {place: origin for origin, place in _places().items() if origin != "README.md"}


def included_pages() -> Mapping[str, str]:
    """Return the text of each included page by its place on the site."""
    return {place: (ROOT / origin).read_text(encoding="utf-8") for place, origin in _origins().items()}


def origin_of(place: str) -> str:
    """Return the path in the repository of a page, of which links in it are relative."""
    return _origins().get(place, f"docs/{place}")


def place_of(path: str) -> str:
    """Return the place on the site of a file or a folder of the repository."""
    folder = f"{path}/README.md"
    if folder in _places():
        return _places()[folder]
    return _places().get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}")


def linked_files(place: str, markdown: str) -> Iterator[str]:
    """Return the files of the repository, apart from pages, that a page links: the site needs a copy of them."""
    for target in _targets(place, markdown):
        if place_of(target).startswith("source/") and (ROOT / target).is_file():
            yield target


def translated(place: str, markdown: str) -> str:
    """Return a page with links to the site in the place of links to files of the repository."""

    def on_site(link: re.Match[str]) -> str:
        target = _path(place, link["target"])
        if origin_of(place).startswith("docs/") and target.startswith("docs/"):
            return link[0]
        there = os.path.relpath(place_of(target), posixpath.dirname(place) or ".")
        return f"{link['before']}{there}{link['anchor'] or ''}{link['after']}"

    return _outside_code(markdown, lambda text: _LINK.sub(on_site, text))


@cache
def _rules() -> Mapping[str, str]:
    """Return the place of each rule by its id."""
    pages = {place: text for place, text in included_pages().items() if place.startswith("rules/")}
    return {rule["id"]: posixpath.basename(place) for place, text in pages.items() for rule in _RULE.finditer(text)}


def with_rule_links(place: str, markdown: str) -> str:
    """Return a page of rules whose headings have the ids as anchors, and whose references are links."""
    if not place.startswith("rules/"):
        return markdown

    def linked(reference: re.Match[str]) -> str:
        page = _rules().get(reference[0])
        return reference[0] if page is None else f"[{reference[0]}]({page}#{reference[0].lower()})"

    parts = _PLAIN.split(_RULE.sub(lambda rule: f"{rule[0]} {{: #{rule['id'].lower()} }}", markdown))
    return "".join(_REFERENCE.sub(linked, part) if number % 2 == 0 else part for number, part in enumerate(parts))


def _targets(place: str, markdown: str) -> Iterator[str]:
    for number, text in enumerate(_FENCED.split(markdown)):
        if number % 3 == 0:
            yield from (_path(place, link["target"]) for link in _LINK.finditer(text))


def _path(place: str, target: str) -> str:
    """Return the path in the repository of the target of a link."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin_of(place)), target))


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    parts = _FENCED.split(markdown)
    # Of three parts each, the second is a block of code and the third its fence.
    return "".join(change(text) if number % 3 == 0 else text for number, text in enumerate(parts) if number % 3 != 2)
