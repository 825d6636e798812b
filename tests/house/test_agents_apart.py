"""Test that code outside `agents/` names no agent and reaches agents only through the registry."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from .test_layers import imports

AGENTLESS: Final = (
    *("core", "runtime", "daemon", "workspace", "spaces", "protocols"),
    *(
        "agent.py",
        "agent_places.py",
        "events.py",
        "findings.py",
        "harness",
        "hints.py",
        "options.py",
        "prompting.py",
    ),
)
NAME: Final = re.compile(r"codex|claude|openai", re.IGNORECASE)
OF_OTHER_PROGRAMS: Final = {"secret_places.py", "steering_files.py"}
"""Tables of files of many programs, among them agents that have no folder here."""
OWN_NAME: Final = re.compile(r"codex[_-]adapter", re.IGNORECASE)


@pytest.mark.rule("AG1")
def test_no_agent_is_named_where_all_are_meant(root: Path) -> None:
    named = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for place in AGENTLESS
        for path in _texts(root / "codex_adapter" / place)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for found in NAME.findall(OWN_NAME.sub("", line))
        if path.name not in OF_OTHER_PROGRAMS or found.lower() == "codex"
    ]
    files = {line.partition(":")[0] for line in named}
    assert not named, "\n".join([f"{len(files)} files name an agent:", *named])


@pytest.mark.rule("AG5")
def test_an_agent_is_reached_by_the_registry_alone(root: Path, package: dict[str, str]) -> None:
    kinds = [path.parent.name for path in (root / "codex_adapter" / "agents").glob("*/__init__.py")]
    assert kinds
    an_agent = re.compile(rf"(?:codex_adapter)?\.?agents\.(?:{'|'.join(kinds)})\b")
    found = [
        f"{module}:{line} imports {name}"
        for module, source in package.items()
        if module.split(".")[1] not in {"__init__", "agents", "testing"} and "agents" in source
        for line, name in [*imports(module, source), *_strings(source)]
        if an_agent.match(name)
    ]
    modules = {line.partition(":")[0] for line in found}
    assert not found, "\n".join([f"{len(modules)} modules import from an agent:", *found])


def _texts(place: Path) -> Iterator[Path]:
    assert place.exists()
    if place.is_file():
        yield place
    yield from (path for path in sorted(place.rglob("*")) if path.suffix in {".py", ".toml", ".css"})


def _strings(source: str) -> Iterator[tuple[int, str]]:
    """Return each string with its line: a module can be loaded by its name, too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
