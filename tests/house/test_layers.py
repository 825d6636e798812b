"""Imports go one way, I/O stays where it belongs, and modules keep their shape: all of it by reading the package."""

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
VOCABULARY = frozenset({"agent_places", "errors", "events", "hints", "request"})
CORE = VOCABULARY | {"core"}
RUNTIME = CORE | {"agent", "runtime", "file_systems", "durable"}
AGENTLESS = ("prompting.py", "workspace", "protocols/mailbox", "protocols/operations")
"""What knows no agent: `codex` occurs there as the package's own name alone."""
PUBLIC = "public names"
DATA = frozenset({"msgspec", "typing_extensions"})
TRIO = DATA | {"trio"}


class Layer(NamedTuple):
    """What a layer may import: layers of ours, and other distributions."""

    ours: frozenset[str]
    others: frozenset[str]


LAYERS = {
    "agent_places": Layer(frozenset(), DATA),
    "hints": Layer(frozenset(), DATA),
    "errors": Layer(frozenset({"hints"}), DATA),
    "events": Layer(frozenset({"errors", "hints"}), DATA),
    "request": Layer(frozenset(), DATA),
    "extras": Layer(frozenset(), frozenset()),
    "records": Layer(VOCABULARY, DATA),
    "text": Layer(VOCABULARY, DATA),
    "safe_read": Layer(frozenset(), frozenset()),
    "durable": Layer(frozenset(), frozenset()),
    "strict_decode": Layer(frozenset(), DATA),
    "file_systems": Layer(frozenset({"errors"}), frozenset({"trio"})),
    "core": Layer(CORE, DATA),
    "agent": Layer(CORE, TRIO),
    "runtime": Layer(RUNTIME, TRIO),
    "workspace": Layer(RUNTIME | {"workspace"}, TRIO),
    "spaces": Layer(
        frozenset(
            {PUBLIC, "errors", "extras", "file_systems", "safe_read", "durable", "strict_decode", "workspace", "spaces"}
        ),
        TRIO | {"inotify_simple", "httpx2", "semantic_version", "tomli_w", "yaml"},
    ),
    "turn_errors": Layer(frozenset(), DATA),
    "harness": Layer(frozenset({PUBLIC, "spaces", "turn_errors"}), TRIO),
    "agents": Layer(
        RUNTIME
        | {PUBLIC, "records", "text", "safe_read", "durable", "strict_decode", "extras"}
        | {"workspace", "spaces", "harness", "turn_errors", "testing", "agents"},
        TRIO | {"tomli_w", "yaml"},
    ),
    "runs": Layer(RUNTIME | {"agents"}, TRIO),
    "__init__": Layer(RUNTIME | {"agents", "text", "runs"}, frozenset()),
    "__main__": Layer(frozenset({"cli"}), frozenset()),
    "sync": Layer(frozenset({PUBLIC}), frozenset({"trio"})),
    "prompting": Layer(frozenset({PUBLIC, "agent", "events", "records", "text", "workspace"}), TRIO),
    "daemon": Layer(RUNTIME | {PUBLIC, "records", "safe_read", "durable", "strict_decode", "text", "daemon"}, TRIO),
    "protocols": Layer(
        frozenset({PUBLIC, "agent", "events", "hints", "records", "text", "prompting"})
        | {
            "extras",
            "file_systems",
            "safe_read",
            "durable",
            "strict_decode",
            "workspace",
            "spaces",
            "harness",
            "turn_errors",
            "protocols",
        },
        TRIO | {"inotify_simple"},
    ),
    "testing": Layer(RUNTIME | {PUBLIC, "records", "strict_decode", "testing"}, TRIO),
    "cli": Layer(
        RUNTIME
        | {
            PUBLIC,
            "extras",
            "records",
            "text",
            "safe_read",
            "durable",
            "strict_decode",
            "prompting",
            "workspace",
            "spaces",
        }
        | {"harness", "turn_errors", "agents", "daemon", "protocols", "testing", "cli"},
        TRIO | {"rich", "markdown_it", "pyperclip"},
    ),
}
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
        for line, name in _imports(module, source)
        if name.split(".")[0] == PACKAGE and not _may_import(module, name)
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("P3")
def test_no_protocol_knows_another(package: dict[str, str]) -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for module, source in package.items()
        for line, name in _imports(module, source)
        if _layer(module) == "protocols" == _layer(name) and module.split(".")[2:3] != name.split(".")[2:3]
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("P3")
@pytest.mark.parametrize("name", AGENTLESS)
def test_no_agent_is_named_where_any_agent_may_be_used(name: str) -> None:
    place = Path(codex_adapter.__file__).parent / name
    files = [place] if place.is_file() else [*place.rglob("*.py"), *place.rglob("*.toml")]
    assert files
    wrong = [
        f"{file}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if "codex" in re.sub(r"codex[-_]adapter", "", line.lower())
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("P3")
def test_imports_of_others_belong_to_the_layer(package: dict[str, str]) -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for module, source in package.items()
        for line, name in _imports(module, source)
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
        for line, name in _imports(module, source)
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
        for line, name in [*_uses(source), *_imports(module, source)]
        if name in TERMINAL and (module, name) != ("codex_adapter.sync", "trio.run")
    ]
    assert not wrong, _listed(wrong)


@pytest.mark.rule("P5")
def test_each_module_says_what_it_is_for(package: dict[str, str]) -> None:
    silent = [module for module, source in package.items() if not ast.get_docstring(_tree(source))]
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


@functools.cache
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


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


def _imports(module: str, source: str) -> Iterator[Import]:
    """Everything imported, anywhere in a module; relative names are made absolute."""
    parents = module.split(".")[:-1]
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = parents[: len(parents) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            yield from (Import(node.lineno, f"{origin}.{alias.name}") for alias in node.names)


def _uses(source: str) -> Iterator[Import]:
    """Every dotted name that is read, and every plain name that is called."""
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Attribute):
            yield Import(node.lineno, ast.unparse(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield Import(node.lineno, node.func.id)
