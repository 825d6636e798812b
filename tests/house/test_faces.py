"""Test that folders use each other only through their public modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module

import pytest

FACES = tuple(f"codex_adapter.{name}" for name in ("spaces", "spaces.mcp", "protocols.turns", "workspace"))
"""Packages with an `__all__`, of which all else is private."""


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


def _is_inside(module: str, folder: str) -> bool:
    return module == folder or module.startswith(f"{folder}.")


def _face(origin: str) -> str | None:
    return max((face for face in FACES if _is_inside(origin, face)), key=len, default=None)


def _imports(source: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)
