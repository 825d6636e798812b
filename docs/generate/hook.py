"""Extend MkDocs: add the generated pages, set the navigation, translate links, and check the built site."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.generate.included import ROOT, linked_files, translated, with_rule_links
from docs.generate.links import broken_links
from docs.generate.pages import generated_pages, navigation, with_lists

__all__ = ["on_files", "on_page_markdown", "on_post_build"]


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages and the linked files to those in docs/."""
    for place, text in generated_pages().items():
        files.append(File.generated(config, place, content=text))
    pages = _texts(files)
    for path in sorted({path for place, text in pages.items() for path in linked_files(place, text)}):
        files.append(File.generated(config, f"source/{path}", abs_src_path=str(ROOT / path)))
    config.nav = navigation(pages)
    return files


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_others: object) -> str:
    """Translate the links of a page, and add the lists of pages."""
    text = with_rule_links(page.file.src_uri, translated(page.file.src_uri, markdown))
    return with_lists(text, lambda: _texts(files))


def on_post_build(*, config: MkDocsConfig) -> None:
    """Fail if a link leads nowhere, or if a page loads something from another site."""
    if broken := [*broken_links(Path(config.site_dir))]:
        raise PluginError("\n".join(["", *broken]))


def _texts(files: Files) -> dict[str, str]:
    return {file.src_uri: file.content_string for file in files.documentation_pages()}
