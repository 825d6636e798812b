"""Test that the exports match the rules, have descriptions, and load few modules."""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import codex_adapter

from ..rows import rows

IMPORT = re.compile(r"^from (codex_adapter[\w.]*) import ([\w, ]+)", re.MULTILINE)
DOTTED = re.compile(r"`(codex_adapter(?:\.[a-z]\w*)*(?:\.[A-Z]\w*)?)(?:\(\))?`")
SCHEMA = re.compile(r"\.v[0-9]+$")
LOADED_WITH_THE_PACKAGE = """
import json, sys
import trio, msgspec, typing_extensions
before = set(sys.modules)
from codex_adapter import *
print(json.dumps(sorted(set(sys.modules) - before)))
"""


RULES = (Path(__file__).parents[2] / "specs" / "library.md").read_text()
NAMES, FACES = re.findall(
    r"^\| -?.*?\n\n", RULES[RULES.index("### P1 ") : RULES.index("### P2 ")], re.DOTALL | re.MULTILINE
)
"""The tables of the rule: the public names of the package, and its faces."""


def public_names() -> set[str]:
    """Each face, and each name of one with its face's."""
    names = {f"{face}.{name}" for face in faces() for name in import_module(face).__all__}
    return names | {*faces()}


def faces() -> list[str]:
    return re.findall(r"`([\w.]+)`", FACES)


@pytest.mark.rule("P1")
def test_the_public_names_are_those_of_the_rule() -> None:
    assert set(codex_adapter.__all__) == set(re.findall(r"`(\w+)`", NAMES))


@pytest.mark.rule("P1")
@rows("face", faces())
def test_a_face_lists_its_names_and_has_them(face: str) -> None:
    module = import_module(face)
    assert module.__all__
    assert len(set(module.__all__)) == len(module.__all__)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.rule("P1")
def test_documentation_and_examples_name_public_things_alone(root: Path) -> None:
    public = public_names()
    paths = [*(root / "docs").rglob("*.md"), *root.glob("*.md")]
    paths.remove(root / "CHANGELOG.md")  # it has names of the past, too
    paths += [path for place in ("examples", "contrib", "clients") for path in (root / place).rglob("*.md")]
    wrong = [
        f"{path.relative_to(root)}: {name}" for path in paths for name in _named(path.read_text()) if name not in public
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.rule("P1", "AG5")
def test_an_agent_of_another_distribution_imports_from_faces_alone(root: Path) -> None:
    imported = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse((root / "tests" / "toy" / "toy_agent.py").read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "codex_adapter"
        for alias in node.names
    ]
    assert imported
    assert set(imported) <= public_names()


@pytest.mark.rule("P1")
def test_the_public_names_are_sorted_and_importable() -> None:
    names = list(codex_adapter.__all__)
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert [name for name in names if not hasattr(codex_adapter, name)] == []


@pytest.mark.rule("P1")
def test_each_module_with_public_names_lists_them(package: dict[str, str]) -> None:
    silent = [
        module
        for module, source in _public(package)
        if _all(_tree(source)) is None and [name for name in _defined(_tree(source)) if not name.startswith("_")]
    ]
    assert not silent, ", ".join(silent)


@pytest.mark.rule("P1")
def test_each_listed_name_is_there(package: dict[str, str]) -> None:
    missing = [
        f"{module}.{name}"
        for module, source in _public(package)
        for name in _all(_tree(source)) or []
        if name not in {*_defined(_tree(source)), *_imported(_tree(source))}
    ]
    assert not missing, ", ".join(missing)


@pytest.mark.rule("P1")
def test_each_listed_class_and_function_is_described(package: dict[str, str]) -> None:
    undescribed = [
        f"{module}.{node.name}"
        for module, source in _public(package)
        for node in _tree(source).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name in (_all(_tree(source)) or [])
        and not ast.get_docstring(node)
    ]
    assert not undescribed, ", ".join(undescribed)


@pytest.mark.rule("P2")
def test_an_import_of_the_package_loads_no_more_than_a_run_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", LOADED_WITH_THE_PACKAGE], capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stderr == ""
    loaded = json.loads(done.stdout)
    assert "codex_adapter" in loaded
    foreign = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names - {"codex_adapter"}
    assert foreign == set()
    too_much = {"argparse", "http.server", "codex_adapter.cli", "codex_adapter.testing", "codex_adapter.protocols"}
    assert too_much & set(loaded) == set()


@functools.lru_cache(maxsize=1)
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def _named(text: str) -> Iterator[str]:
    """The names of ours that a page imports or has in backticks."""
    for module, names in IMPORT.findall(text):
        yield from (f"{module}.{name}" for name in names.split(", "))
    yield from (name for name in DOTTED.findall(text) if not SCHEMA.search(name))


def _public(package: dict[str, str]) -> Iterator[tuple[str, str]]:
    for module, source in package.items():
        parts = module.split(".")
        if parts[1] != "cli" and parts[-1] not in {"__main__", "guard"}:
            yield module, source


def _all(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return None


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name) and target.id != "__all__")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
