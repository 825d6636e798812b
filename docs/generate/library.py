"""Write the page of each public module: its names, each with its docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from docs.generate.markdown import cell, table, without_ids

__all__ = ["faces", "library_pages"]

ROOT: Final = Path(__file__).parents[2]
_ROW: Final = re.compile(r"^\| (?P<names>`codex_adapter[\w.`, ]*) \| (?P<purpose>.*) \|$", re.MULTILINE)
_INDEX: Final = """\
# Library

Import names from these modules only. Every other module is private, and may change in each release.

"""
_GLOSSARY: Final = """\
## Words

| word | meaning |
|---|---|
| agent | a CLI that works on a task with a model, such as Codex |
| kind | the name of an agent, such as `codex` |
| backend | what starts the runs of one agent with one configuration |
| gateway | a set of backends, by kind |
| harness | what runs turns of conversations with one agent |
| decoder | what turns the lines of one agent into events |
| run | one execution of an agent, from its start to its end |
| event | one step of a run: a text, a tool call, its result, a status or an error |
| completion | the result of a run that ended without an error of the adapter |
"""
_FIRST: Final = (
    *("open_run", "collect", "RunRequest", "CodexConfig", "RunHandle", "Completion", "Event"),
    *("AdapterError", "InvalidRequestError", "BackendError", "SpawnError", "RunTimedOut", "RunCancelled"),
)
"""The names that most programs use. They are described before the others."""


def faces() -> dict[str, str]:
    """Return the purpose of each public module by its name, in the order of the rule that lists them."""
    rules = (ROOT / "specs" / "library.md").read_text(encoding="utf-8")
    return {name: row["purpose"] for row in _ROW.finditer(rules) for name in re.findall(r"`([\w.]+)`", row["names"])}


def library_pages() -> Mapping[str, str]:
    """Return the pages by their place on the site. A name that several modules have is described once."""
    described: dict[int, tuple[str, str]] = {}
    rows = [(f"[`{face}`]({face}.md)", cell(_summary(face))) for face in faces()]
    pages = {"index.md": _INDEX + table(("module", "content"), rows) + _GLOSSARY}
    return pages | {f"{face}.md": "".join(_page(face, purpose, described)) for face, purpose in faces().items()}


def _summary(face: str) -> str:
    """Return the first sentence of the module's docstring, which is its first paragraph at most."""
    text = without_ids(inspect.getdoc(import_module(face)) or "").partition("\n\n")[0]
    return " ".join(text.split()).partition(". ")[0].removesuffix(".")


def _place(name: str) -> tuple[int, str]:
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name.casefold())


def _page(face: str, purpose: str, described: dict[int, tuple[str, str]]) -> Iterator[str]:
    module = import_module(face)
    yield f"# {face}\n\n{without_ids(inspect.getdoc(module) or purpose)}\n\n"
    elsewhere: list[tuple[str, str, str]] = []
    here: list[tuple[str, str, str]] = []
    for name in sorted(module.__all__, key=_place):
        value = getattr(module, name)
        # A small value, such as a number, may be the same object as another one.
        key = id(value) if hasattr(value, "__qualname__") else id(module) + hash(name)
        first, path = described.setdefault(key, (face, f"{face}.{name}"))
        (here if first == face and path == f"{face}.{name}" else elsewhere).append((name, first, path))
    if elsewhere:
        rows = ((f"`{name}`", f"[`{path}`]({first}.md#{path})") for name, first, path in elsewhere)
        yield "These names are described on other pages:\n\n" + table(("name", "described as"), rows)
    yield from (f"::: {path}\n\n" for _, _, path in here)
