"""The page of a command has all of its help."""

from __future__ import annotations

import re

import pytest

from codex_adapter.cli import COMMANDS
from docs.generate.commands import command_names, command_pages, help_of

from ..rows import rows

pytestmark = pytest.mark.rule("DC3")


def test_each_command_has_a_page_and_the_index_links_it() -> None:
    pages = command_pages()
    assert pages.keys() == {"index.md", *(f"{name}.md" for name in COMMANDS.keys() - {"help"})}
    assert [name for name in command_names() if f"]({name}.md)" not in pages["index.md"]] == []


@rows("name", command_names())
def test_a_page_has_every_option_and_every_example(name: str) -> None:
    page = command_pages()[f"{name}.md"]
    text = help_of(name)
    options = re.findall(r"^  (?:-\w(?: \S+)?, )?(--[\w-]+)", text, re.MULTILINE)
    assert "--help" in options
    assert [option for option in options if not re.search(rf"`{option}[` ]", page)] == []
    examples = re.findall(r"^  (\S.*)$", text.partition("examples:\n")[2], re.MULTILINE)
    assert examples
    assert [example for example in examples if f"\n{example}\n" not in page] == []


@rows("name", command_names())
def test_a_page_has_the_words_of_the_help(name: str) -> None:
    said = {*re.findall(r"\w{4,}", help_of(name).lower().replace("_", ""))}
    shown = {*re.findall(r"\w{4,}", command_pages()[f"{name}.md"].lower().replace("\\", "").replace("_", ""))}
    assert said - shown - {"usage", "positional", "status"} == set()


def test_statuses_are_a_table_between_the_options_and_the_examples() -> None:
    before, _, after = command_pages()["run.md"].partition("## Exit status\n")
    table, _, _ = after.partition("## Examples\n")
    assert "| `--timeout SECONDS` |" in before
    assert {"| `2` |", "| `124` |", "| `128+n` |"} <= {*re.findall(r"^\| `[^|]*` \|", table, re.MULTILINE)}
