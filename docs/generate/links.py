"""Check the built site: every link leads to a page and an anchor of the site, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from typing_extensions import override

__all__ = ["broken_links"]

_LOADING: Final = {"img": "src", "script": "src", "iframe": "src", "source": "src", "object": "data"}
_LOADED_RELATIONS: Final = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch"}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if tag == "link" and _LOADED_RELATIONS & {*attributes.get("rel", "").split()}:
            self.loaded.append(attributes.get("href", ""))
        if _LOADING.get(tag) in attributes:
            self.loaded.append(attributes[_LOADING[tag]])


def broken_links(site: Path) -> Iterator[str]:
    """Return a sentence for each link of the site that leads nowhere, and for each file from another site."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        where = path.relative_to(site)
        yield from (f"{where} loads {url} from another site" for url in page.loaded if _is_elsewhere(url))
        for url in (*page.links, *page.loaded):
            parts = urlsplit(url)
            if _is_elsewhere(url) or parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{where} links {url}, which does not exist"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{where} links {url}, and that page does not have the anchor"


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _is_elsewhere(url: str) -> bool:
    return url.startswith(("http:", "https:", "//"))
