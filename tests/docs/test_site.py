"""The site has every page, and its check finds what is broken."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generate.included import ROOT, linked_files, origin_of, place_of, translated, with_rule_links
from docs.generate.links import broken_links
from docs.generate.pages import generated_pages, generated_places, navigation, with_lists

from ..rows import rows

LINKS = [
    ("rules/library.md", "[a](daemon.md#x)", "[a](daemon.md#x)"),
    ("rules/releases.md", "[a](../docs/releases.md)", "[a](../releases.md)"),
    ("architecture.md", "[a](../CONTRIBUTING.md#add-an-agent)", "[a](project/contributing.md#add-an-agent)"),
    ("architecture.md", "[a](../specs/README.md)", "[a](rules/index.md)"),
    ("reference/faults.md", "[a](../releases.md)", "[a](../releases.md)"),
    ("tutorials/first.md", "[a](../../examples/supervisor.mjs)", "[a](../source/examples/supervisor.mjs)"),
    ("tutorials/first.md", "[a](../../README.md)", "[a](../index.md)"),
    ("project/contributing.md", "[a](specs)", "[a](../rules/index.md)"),
    ("project/changelog.md", "[a](https://example.org/b.md) [c](#d)", "[a](https://example.org/b.md) [c](#d)"),
    ("architecture.md", "```\n[a](../README.md)\n```\n", "```\n[a](../README.md)\n```\n"),
]


@pytest.mark.rule("DC1")
@rows(("place", "markdown", "on_site"), LINKS)
def test_links_to_files_become_links_on_the_site(place: str, markdown: str, on_site: str) -> None:
    assert translated(place, markdown) == on_site


@pytest.mark.rule("DC1")
def test_ids_in_the_rules_become_links() -> None:
    page = "### S6 - `CODEX_HOME`\nSee C5 and (P1, Z99), not `C5`.\n\n    C5\n"
    assert with_rule_links("rules/spawn.md", page) == (
        "### S6 - `CODEX_HOME` {: #s6 }\n"
        "See [C5](command-line.md#c5) and ([P1](library.md#p1), Z99), not `C5`.\n\n    C5\n"
    )
    assert with_rule_links("project/changelog.md", page) == page


@pytest.mark.rule("DC1")
def test_a_linked_file_that_is_not_a_page_is_copied() -> None:
    text = "[a](../../examples/supervisor.mjs) [b](../releases.md) [c](../../README.md)"
    assert [*linked_files("tutorials/first.md", text)] == ["examples/supervisor.mjs"]


@pytest.mark.rule("DC1")
@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<a href="b.html#there">', ""),
        ('<a href="b.html#missing">', "the anchor"),
        ('<a href="c.html">', "does not exist"),
        ('<a href="#missing">', "the anchor"),
        ('<a href="https://example.org/">', ""),
        ('<script src="https://example.org/a.js"></script>', "from another site"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "from another site"),
        ('<img src="missing.png">', "does not exist"),
    ],
)
def test_the_check_finds_what_is_broken(tmp_path: Path, html: str, found: str) -> None:
    (tmp_path / "a.html").write_text(html)
    (tmp_path / "b.html").write_text('<h2 id="there">There</h2>')
    broken = [*broken_links(tmp_path)]
    assert len(broken) == bool(found)
    assert all(found in sentence for sentence in broken)


@pytest.mark.rule("DC1")
def test_the_gate_builds_the_site_and_every_warning_is_an_error() -> None:
    tox = ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    assert "docs" in tox["tox"]["env_list"].split(", ")
    assert "mkdocs build --strict" in tox["testenv:docs"]["commands"]
    settings: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert settings["strict"] is True
    assert settings["theme"]["font"] is False
    assert set(settings["validation"].values()) == {"warn"}


@pytest.mark.rule("DC2")
def test_every_page_is_in_the_navigation() -> None:
    pages = {**generated_pages(), **_written_pages()}
    assert [place for place in pages if place not in str(navigation(pages))] == []
    with pytest.raises(ValueError, match=r"no folder of a section: stray/page\.md"):
        navigation({**pages, "stray/page.md": ""})


@pytest.mark.rule("DC2")
def test_the_pages_of_a_folder_are_in_the_order_of_its_index() -> None:
    pages = {
        "tutorials/a.md": "",
        "tutorials/b.md": "",
        "tutorials/c.md": "",
        "tutorials/index.md": "First [c](c.md), then [b](b.md#x).",
    }
    [_, tutorials] = navigation({"index.md": "", **pages})
    assert tutorials == {"Tutorials": [f"tutorials/{name}.md" for name in ("index", "c", "b", "a")]}


@pytest.mark.rule("DC2")
def test_a_page_can_list_the_pages_of_a_folder() -> None:
    pages = {
        "index.md": "",
        "how-to/index.md": "# How-to\n",
        "how-to/a.md": "# The first\n",
        "how-to/b.md": "Words.\n\n# The second\n",
    }
    listed = with_lists("One\n\n<!-- pages: how-to -->\n\n<!-- pages: tutorials -->\n", lambda: pages)
    assert listed == "One\n\n- [The first](how-to/a.md)\n- [The second](how-to/b.md)\n\n\n"


@pytest.mark.rule("DC2", "P12")
def test_the_places_of_generated_pages_are_known_without_generating_them() -> None:
    generated = {place for place in generated_pages() if place.startswith("reference/")}
    assert generated == generated_places()


@pytest.mark.rule("DC2")
def test_each_rule_and_page_of_the_repository_is_included() -> None:
    pages = generated_pages()
    sources = [*ROOT.glob("specs/*.md"), *ROOT.glob("*.md"), *ROOT.glob("examples/*.md")]
    paths = [str(path.relative_to(ROOT)) for path in sources if path.name != "README.md"]
    assert [path for path in paths if place_of(path) not in pages or origin_of(place_of(path)) != path] == []


def _written_pages() -> dict[str, str]:
    return {str(path.relative_to(ROOT / "docs")): path.read_text() for path in (ROOT / "docs").rglob("*.md")}
