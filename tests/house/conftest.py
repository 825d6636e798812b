"""Provide the source of the package as text; the tests of this directory do not run it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# The generator of the documentation is not installed. At the end: what is installed is what is tested.
sys.path.append(str(Path(__file__).parents[2]))


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return Path(__file__).parents[2]


@pytest.fixture(scope="session")
def package(root: Path) -> dict[str, str]:
    """The source of each module of `codex_adapter` by its dotted name; a package by that of its `__init__`."""
    paths = sorted((root / "codex_adapter").rglob("*.py"))
    return {".".join(path.relative_to(root).with_suffix("").parts): path.read_text() for path in paths}
