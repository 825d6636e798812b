"""Test that imports follow the layers, that I/O stays in its place, and the shape of modules."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import codex_adapter

PACKAGE = "codex_adapter"
PUBLIC = PACKAGE  # the layer of the public names


class Layer(NamedTuple):
    """What a layer may import: layers of ours, and other distributions."""

    ours: frozenset[str]
    others: frozenset[str]


def _layers(rule: str) -> dict[str, Layer]:
    """Return the table of the rule: each layer, and what it may import. Names in italics are groups of names."""
    groups: dict[str, frozenset[str]] = {}

    def names(cell: str) -> frozenset[str]:
        words = re.findall(r"\*(\w+)\*|`(\w+)`", cell)
        return frozenset().union(*(groups[group] if group else {name} for group, name in words))

    for group, members in re.findall(r"^- \*(\w+)\*: (.+)$", rule, re.MULTILINE):
        groups[group] = names(members)
    rows = [row.split("|")[1:4] for row in re.findall(r"^\| [`].*$", rule, re.MULTILINE)]
    return {
        layer: Layer(names(ours) | {layer}, names(others)) for layers, ours, others in rows for layer in names(layers)
    }


RULES = (Path(__file__).parents[2] / "specs" / "library.md").read_text()
LAYERS = _layers(RULES[RULES.index("### P3 ") : RULES.index("### P4 ")])
NOTHING = Layer(frozenset(), frozenset())

PURE_MODULES = frozenset(
    {
        *("__future__", "abc", "base64", "bisect", "collections", "dataclasses", "enum", "functools", "itertools"),
        *("json", "math", "operator", "posixpath", "re", "types", "typing", "unicodedata"),
    }
)
"""What `core` may use of the standard library; a module belongs here when nothing used of it does I/O."""
PURE_NAMES = frozenset({"io.BytesIO"})
"""The same of modules that also have what does."""
IMPURE_CALLS = frozenset({"input", "open", "print"})
IMPURE_ATTRIBUTES = frozenset(
    {"abspath", "exists", "expanduser", "expandvars", "isdir", "isfile", "realpath", "relpath"}
)
"""What `posixpath` has that asks the system."""
TERMINAL = frozenset(f"sys.{name}" for name in ("argv", "stdin", "stdout", "stderr")) | {"trio.run", "print", "input"}
PROGRAMS = frozenset(
    {
        "codex_adapter.runtime.containment.guard",
        "codex_adapter.testing.agent_program",
        "codex_adapter.testing.mcp_server",
        "codex_adapter.testing.model_server.__main__",
    }
)
"""Modules that are run by themselves, each in a process of its own."""
LONGEST_MODULE = 400


class Import(NamedTuple):
    """One imported thing by its dotted name, and where that is."""

    line: int
    name: str


@pytest.mark.rule("P3")
def test_each_module_belongs_to_a_layer(package: dict[str, str]) -> None:
    homeless = [module for module in package if _layer(module) not in LAYERS]
    assert not homeless, _listed(homeless)


@pytest.mark.rule("P3")
def test_imports_of_ours_go_down_the_layers(package: dict[str, str]) -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for module, source in package.items()
        for line, name in imports(module, source)
        if name.split(".")[0] == PACKAGE and not _may_import(module, name)
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("P3")
def test_no_protocol_knows_another(package: dict[str, str]) -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for module, source in package.items()
        for line, name in imports(module, source)
        if _layer(module) == "protocols" == _layer(name) and module.split(".")[2:3] != name.split(".")[2:3]
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("P3")
def test_imports_of_others_belong_to_the_layer(package: dict[str, str]) -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for module, source in package.items()
        for line, name in imports(module, source)
        if (top := name.split(".")[0]) != PACKAGE
        and top not in sys.stdlib_module_names | LAYERS.get(_layer(module), NOTHING).others
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("P3", "P4")
def test_the_core_does_no_io(package: dict[str, str]) -> None:
    core = {module: source for module, source in package.items() if _layer(module) == "core"}
    assert core
    wrong = [
        f"{module}:{line} imports {name}: not in PURE_MODULES"
        for module, source in core.items()
        for line, name in imports(module, source)
        if (top := name.split(".")[0]) in sys.stdlib_module_names and top not in PURE_MODULES and name not in PURE_NAMES
    ]
    wrong += [
        f"{module}:{line} uses {name}"
        for module, source in core.items()
        for line, name in _uses(source)
        if name in IMPURE_CALLS or name.rpartition(".")[2] in IMPURE_ATTRIBUTES
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("P3", "C7")
def test_only_the_command_line_and_programs_touch_the_terminal(package: dict[str, str]) -> None:
    assert package.keys() >= PROGRAMS
    wrong = [
        f"{module}:{line} uses {name}"
        for module, source in package.items()
        if _layer(module) != "cli" and module not in PROGRAMS
        for line, name in [*_uses(source), *imports(module, source)]
        if name in TERMINAL and (module, name) != ("codex_adapter.sync", "trio.run")
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("S10", "Z10")
def test_one_module_removes_directories_and_changes_modes_by_path(package: dict[str, str]) -> None:
    wrong = [
        f"{module}:{line} uses {name}"
        for module, source in package.items()
        for line, name in [*_uses(source), *imports(module, source)]
        if name.rpartition(".")[2] in {"chmod", "lchmod", "removedirs", "rmtree"}
        and module != f"{PACKAGE}.own_directories"
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("P3", "C23")
def test_the_command_line_knows_an_agent_by_the_registry_alone(package: dict[str, str]) -> None:
    words = ("backend.codex", "agent_api.", f"{PACKAGE}.agents.codex", "codex_home")
    wrong = [
        f"{module}:{number}: {line.strip()}"
        for module, source in package.items()
        if _layer(module) == "cli"
        for number, line in enumerate(source.splitlines(), 1)
        if any(word in line for word in words)
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("P5")
def test_each_module_says_what_it_is_for(package: dict[str, str]) -> None:
    silent = [module for module, source in package.items() if not ast.get_docstring(ast.parse(source))]
    assert not silent, _listed(silent)


@pytest.mark.rule("P5")
def test_no_module_is_too_long_to_be_read_at_once(package: dict[str, str]) -> None:
    lengths = {module: len(source.splitlines()) for module, source in package.items()}
    long = [f"{module} has {length} lines" for module, length in lengths.items() if length > LONGEST_MODULE]
    assert not long, _listed(long)


@pytest.mark.rule("P5")
def test_no_module_is_a_drawer_for_odds_and_ends(package: dict[str, str]) -> None:
    drawers = {"utils", "util", "helpers", "misc", "common"}
    found = [module for module in package if drawers & set(module.split("."))]
    assert not found, _listed(found)


def _listed(findings: list[str]) -> str:
    return "\n".join(["", *findings])


def _layer(name: str) -> str:
    """The layer of a module or of a name imported from one; a name of the package itself is `PUBLIC`."""
    second = [*name.split("."), PUBLIC][1]
    return second if second in LAYERS else PUBLIC


def _may_import(module: str, name: str) -> bool:
    allowed = LAYERS.get(_layer(module), NOTHING).ours
    layer = _layer(name)
    if layer == PUBLIC:
        return PUBLIC in allowed and name.removeprefix(f"{PACKAGE}.") in {PACKAGE, *codex_adapter.__all__}
    return layer in allowed


@functools.cache
def imports(module: str, source: str) -> list[Import]:
    """Everything imported, anywhere in a module; relative names are made absolute."""
    parents = module.split(".")[:-1]
    found: list[Import] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = parents[: len(parents) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            found += (Import(node.lineno, f"{origin}.{alias.name}") for alias in node.names)
    return found


def _uses(source: str) -> Iterator[Import]:
    """Every dotted name that is read, and every plain name that is called."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            yield Import(node.lineno, ast.unparse(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield Import(node.lineno, node.func.id)
