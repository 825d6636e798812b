"""Write the page of each command from the help that it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from codex_adapter.cli import COMMANDS
from docs.generate.markdown import cell, code, table

__all__ = ["command_names", "command_pages", "help_of"]

WITHOUT_PAGE: Final = ("help",)
_INDEX: Final = """\
# Commands

Every command prints its own help: `codex-adapter COMMAND --help`. These pages are generated from it.

"""
_STATUSES: Final = """\
## Exit statuses

The page of a command names its own statuses. These have the same meaning everywhere:

| status | meaning |
|---|---|
| 0 | The command succeeded. |
| 2 | The command line is wrong, or the request was refused. |
| 124 | A time limit ended the run. |
| 125 | The command failed for another reason. |
| 126, 127 | The CLI of the agent cannot be executed, or was not found. |
| 128 + n | The signal with the number n ended the agent, or asked the command to stop. |
"""
_LAST: Final = ("exit status:", "examples:")
_NUMBERED: Final = re.compile(r" *[0-9]+\. ")
_GROUP: Final = re.compile(r"(?P<title>\S[^\n]*):\n(?P<rows>(?: .*\n?)+)")
_ROW: Final = re.compile(r"  (?P<name>\S.*?)(?:  +(?P<meaning>\S.*))?")


def command_pages() -> Mapping[str, str]:
    """Return the pages of all commands by their place on the site."""
    names = command_names()
    rows = [(f"[`{name}`]({name}.md)", cell(COMMANDS[name][1])) for name in names]
    index = _INDEX + table(("command", "purpose"), rows) + _STATUSES
    return {"index.md": index} | {f"{name}.md": "".join(_page(name)) for name in names}


def command_names() -> list[str]:
    """Return the commands that have a page."""
    return [name for name in COMMANDS if name not in WITHOUT_PAGE]


@cache
def help_of(name: str) -> str:
    """Return the help that a command prints."""
    command = [sys.executable, "-m", "codex_adapter", name, "--help"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _page(name: str) -> Iterator[str]:
    usage, *paragraphs = help_of(name).rstrip().split("\n\n")
    # Options come before statuses: they are read more often. The sort keeps the order of all other paragraphs.
    paragraphs.sort(key=lambda paragraph: [paragraph.startswith(title) for title in reversed(_LAST)])
    yield f"# {name}\n\n"
    yield code(usage.removeprefix("usage: "))
    for paragraph in paragraphs:
        found = _GROUP.fullmatch(paragraph)
        if found is None:
            yield _paragraph(paragraph)
            continue
        yield f"## {cell(_capitalized(found['title'].removeprefix('positional ')))}\n\n"
        if found["title"] == "examples":
            yield code(_without_indent(found["rows"]), "sh")
        else:
            yield _rows_as_table(found["rows"], ("status" if found["title"] == "exit status" else "name", "meaning"))


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if not all(line.startswith("  ") for line in lines):
        return f"{cell(text)}\n\n"
    if _NUMBERED.match(text):
        return "".join(f"{cell(line)}\n" for line in lines) + "\n"
    return _rows_as_table(text, ("name", "meaning"))


def _rows_as_table(text: str, head: tuple[str, str]) -> str:
    """Return a table. A row without a meaning is a sentence above it."""
    rows = [*_rows(text)]
    sentences = "".join(f"{cell(_capitalized(name))}\n\n" for name, meaning in rows if not meaning)
    return sentences + table(head, ((_names(name), cell(meaning)) for name, meaning in rows if meaning))


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _names(text: str) -> str:
    """Return the names of an option as code, one on a line; words with code of their own stay as they are."""
    return cell(text) if "`" in text else "<br>".join(f"`{name}`" for name in re.split(r", (?=-)", text))


def _rows(text: str) -> Iterator[tuple[str, str]]:
    """Return the name and the meaning in each row; further lines of a row are indented more."""
    rows: list[list[str]] = []
    for line in text.splitlines():
        if found := _ROW.fullmatch(line):
            rows.append([found["name"], found["meaning"] or ""])
        else:
            rows[-1][1] += f" {line.strip()}"
    yield from ((name, meaning.strip()) for name, meaning in rows)


def _without_indent(text: str) -> str:
    return "\n".join(line.removeprefix("  ") for line in text.splitlines())
