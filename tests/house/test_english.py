"""Test that the prose of the package, the rules and the pages keeps to the style guide."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from ..rows import rows
from .english import CHECKED, ROOT, check, sentences

pytestmark = pytest.mark.rule("DC12")


@rows("name", CHECKED)
def test_the_prose_keeps_to_the_style_guide(name: str) -> None:
    found = [
        f"{each.path.relative_to(ROOT)}:{each.line}: {each.name}: {each.excerpt!r}" for each in check([ROOT / name])
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"""What is left of a run."""', "no imperative verb first"),
        ('"""Returns the session."""', "no imperative verb first"),
        ('"""Return what came of it."""', "what of"),
        ('"""Return the run (K4), and nothing of it is left."""', "a rule's id in mid-sentence"),
        (f'"""Return {"a very long " * 12}sentence."""', "a sentence of 38 words"),
        ("# There is none.", "there is none"),
        ('message = f"{name} is no directory; make it"', "is no"),
        ("told = 1", "a name in dialect"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, text: str, name: str) -> None:
    module = tmp_path / "module.py"
    before = '"""Do something."""\n' if not text.startswith('"""') else ""
    module.write_text(f"{before}{text}\n")
    assert name in {each.name for each in check([module])}


def test_an_id_of_a_rule_on_a_page_for_users_is_found(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("It ends (K4).\n")
    assert [each.name for each in check([page])] == ["a rule's id on a page for users"]


def test_code_and_quotations_are_not_prose(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        dedent("""\
        # A page

        The option `--tell` prints "nobody told us".

        ```sh
        echo whoever comes
        ```
        """)
    )
    assert check([page]) == []


def test_a_passage_is_split_into_sentences() -> None:
    assert list(sentences("One thing. Another `a. b` thing: it is so! And a third")) == [
        "One thing.",
        "Another code thing:",
        "it is so!",
        "And a third",
    ]
