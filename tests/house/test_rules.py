"""Test that rules, tests and docstrings name the same ids."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ..rows import rows

pytestmark = pytest.mark.rule("P6")

HEADING = re.compile(r"^### (?P<id>(?:TK|AG|DC|[A-Z])[0-9]+) - \S.*$")
ID = re.compile(r"\b(?:TK|AG|DC|[A-Z])[0-9]{1,2}\b")
RANGE = re.compile(r"\b(?P<family>TK|AG|DC|[A-Z])(?P<first>[0-9]+) to (?P=family)(?P<last>[0-9]+)\b")
FAMILIES = re.compile(r"(?:TK|AG|DC|[A-Z])(?:, (?:TK|AG|DC|[A-Z]))*")
PARENTHESES = re.compile(r"\(([^()]*)\)")
ELSEWHERE: dict[str, str] = {}
"""Rules that no test of `tox` proves, and why; the other environments do."""
LONGEST_RULE = 12
"""Lines of prose under one heading; tables and indented blocks not counted."""


@pytest.fixture(scope="module")
def rules(root: Path) -> dict[str, list[str]]:
    """The lines under each rule's heading by the rule's id."""
    found: dict[str, list[str]] = {}
    for path in sorted((root / "specs").glob("*.md")):
        lines: list[str] = []
        for line in path.read_text().splitlines():
            if heading := HEADING.match(line):
                lines = found.setdefault(heading["id"], [])
            elif line.startswith("#"):
                lines = []
            elif line:
                lines.append(line)
    return found


def test_each_id_is_given_to_one_rule_and_every_third_level_heading_is_a_rule(root: Path) -> None:
    headings = [
        line
        for path in (root / "specs").glob("*.md")
        for line in path.read_text().splitlines()
        if line.startswith("###")
    ]
    assert [line for line in headings if HEADING.match(line) is None] == []
    ids = Counter(line.split()[1] for line in headings)
    assert {id_: count for id_, count in ids.items() if count > 1} == {}


def test_each_rule_has_a_text_that_can_be_read_at_once(rules: dict[str, list[str]]) -> None:
    prose = {id_: [line for line in lines if not line.startswith(("|", "    "))] for id_, lines in rules.items()}
    assert {id_: len(lines) for id_, lines in prose.items() if not lines and not rules[id_]} == {}
    assert {id_: len(lines) for id_, lines in prose.items() if len(lines) > LONGEST_RULE} == {}


def test_rules_refer_to_rules_that_exist(rules: dict[str, list[str]], root: Path) -> None:
    text = {path.name: path.read_text() for path in (root / "specs").glob("*.md")}
    unknown = {name: sorted(set(ID.findall(body)) - rules.keys()) for name, body in text.items()}
    assert {name: ids for name, ids in unknown.items() if ids} == {}


def test_each_rule_is_proved_by_a_marked_test(rules: dict[str, list[str]], root: Path) -> None:
    marked = {id_ for path in _tests(root) for id_ in _marks(path)}
    unproved = [id_ for id_ in rules if id_ not in marked]
    assert not unproved, f"rules without a test marked @pytest.mark.rule(id): {', '.join(unproved)}"


def test_each_rule_has_a_test_that_every_change_must_pass(rules: dict[str, list[str]], root: Path) -> None:
    in_gate = {id_ for path in _tests(root) for id_ in _marks_in_gate(path)}
    assert rules.keys() - in_gate == ELSEWHERE.keys(), "rules of which `tox` runs no test"


def test_each_mark_names_a_rule(rules: dict[str, list[str]], root: Path) -> None:
    unknown = {path.name: sorted(set(_marks(path)) - rules.keys()) for path in _tests(root)}
    assert {name: ids for name, ids in unknown.items() if ids} == {}


def test_each_test_module_says_which_rules_it_proves(root: Path) -> None:
    assert [path.name for path in _tests(root) if path.name.startswith("test_") and not list(_marks(path))] == []


def test_each_id_in_a_docstring_names_a_rule(rules: dict[str, list[str]], package: dict[str, str]) -> None:
    families = {id_.rstrip("0123456789") for id_ in rules}
    unknown = {
        module: sorted({id_ for text in _docstrings(source) for id_ in _references(text)} - rules.keys() - families)
        for module, source in package.items()
    }
    assert {module: ids for module, ids in unknown.items() if ids} == {}


@rows(
    ("docstring", "ids"),
    [
        ("Reads on (D3).", ["D3"]),
        ("Bounded and masked (B4, X5); see (TK1).", ["B4", "X5", "TK1"]),
        ("Checked first (Q1 to Q3).", ["Q1", "Q2", "Q3"]),
        ("The name of a line separator (U+2028) in UTF-8 (RFC3629).", []),
        ("All of a family (B, X).", ["B", "X"]),
        ("S3 outside of parentheses.", []),
    ],
)
def test_references_are_read_from_parentheses(docstring: str, ids: list[str]) -> None:
    assert list(_references(docstring)) == ids


def _tests(root: Path) -> list[Path]:
    return sorted((root / "tests").rglob("*.py"))


@functools.cache
def _marks(path: Path) -> tuple[str, ...]:
    """The ids in every `pytest.mark.rule(...)` of a file."""
    return tuple(_ids(ast.parse(path.read_text())))


def _ids(tree: ast.AST) -> Iterator[str]:
    """The ids in every `pytest.mark.rule(...)`; one that is no plain text counts as the source it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "rule":
            yield from (_text(argument) or ast.unparse(argument) for argument in node.args)


def _marks_in_gate(path: Path) -> Iterator[str]:
    """The ids that the tests of a file have when those are left out that `tox` does not run."""
    tree = ast.parse(path.read_text())
    of_module = [node for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            marks = [*of_module, *node.decorator_list]
            if _is_in_gate(marks):
                yield from (id_ for mark in marks for id_ in _ids(mark))


def _is_in_gate(marks: Sequence[ast.AST]) -> bool:
    """Whether `tox` runs a test with these marks, or some of its cases: one case may be `smoke`, another `nightly`."""
    every_case = {
        ast.unparse(mark)
        for whole in marks
        for mark in (getattr(whole.value, "elts", [whole.value]) if isinstance(whole, ast.Assign) else [whole])
    }
    if every_case & {"pytest.mark.nightly", "pytest.mark.attack"}:
        return False
    return "pytest.mark.real" not in every_case or any("pytest.mark.smoke" in ast.unparse(mark) for mark in marks)


def _docstrings(source: str) -> Iterator[str]:
    """Every text that stands as a statement: docstrings, and what is said below an assignment."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and (text := _text(node.value)):
            yield text


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _references(docstring: str) -> Iterator[str]:
    for group in PARENTHESES.findall(docstring):
        if FAMILIES.fullmatch(group):
            yield from group.split(", ")
        for span in RANGE.finditer(group):
            yield from (f"{span['family']}{n}" for n in range(int(span["first"]), int(span["last"]) + 1))
        yield from ID.findall(RANGE.sub("", group))
