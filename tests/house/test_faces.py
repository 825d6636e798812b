"""Other folders use a package by its face, and packages of turns know no agent: by reading the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

FACES = ("codex_adapter.spaces", "codex_adapter.spaces.mcp", "codex_adapter.protocols.turns")
"""Packages with an `__all__`, of which all else is private."""
WITHOUT_AGENTS = ("codex_adapter.spaces", "codex_adapter.protocols.turns")
OWN_NAME = re.compile(r"codex[_-]adapter")


@pytest.mark.rule("P1", "P3")
def test_other_folders_import_what_a_face_lists(package: dict[str, str]) -> None:
    wrong = [
        f"{module} imports {name} of {origin}"
        for module, source in package.items()
        for origin, name in _imports(source)
        for face in [_face(origin)]
        if face is not None and not _is_inside(module, FACES[0] if face == FACES[1] else face)
        if origin != face or name not in import_module(face).__all__
    ]
    assert not wrong, "\n".join(["", *wrong])


@pytest.mark.rule("P3", "U1")
@pytest.mark.parametrize("folder", WITHOUT_AGENTS)
def test_no_agent_is_named(package: dict[str, str], folder: str) -> None:
    wrong = [
        f"{module}:{number} {line.strip()}"
        for module, source in package.items()
        if _is_inside(module, folder)
        for number, line in enumerate(source.splitlines(), 1)
        if "codex" in OWN_NAME.sub("", line.lower())
    ]
    assert not wrong, "\n".join(["", *wrong])


def _is_inside(module: str, folder: str) -> bool:
    return module == folder or module.startswith(f"{folder}.")


def _face(origin: str) -> str | None:
    return max((face for face in FACES if _is_inside(origin, face)), key=len, default=None)


def _imports(source: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)
