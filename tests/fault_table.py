"""Generate docs/reference/faults.md, the table of the faults that tests cause, from the `fault` marks of the tests.

Run `python -m tests.fault_table`. Each row is one mark `@pytest.mark.fault(topic, fault, behaviour)` on a test or on
one of its parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["TABLE", "TOPICS", "Row", "render", "rows"]

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "reference" / "faults.md"
TOPICS = {
    "spawning": "Process start",
    "stream": "Agent output",
    "timing": "Timing and order",
    "consumer": "Consumers and supervisors",
    "signals": "Signals",
    "resources": "System resources",
    "environment": "Environment",
    "daemon": "Daemon",
    "workspace": "Workspaces and operations",
    "mailbox": "Mailboxes",
    "turns": "Turns and spaces",
}
HEAD = """\
# Faults

This page lists the faults that can occur around a run, what the product does, and the test that causes each fault.
For example, if SIGKILL ends the daemon, no process of its runs survives. A test is named by its file in `tests/`
and its function.

`python -m tests.fault_table` generates this page from the `fault` marks of the tests. To change a row, edit its mark.
"""


class Row(NamedTuple):
    """One fault. `test` is the path of the file in tests/ and the name of the function."""

    topic: str
    fault: str
    behaviour: str
    test: str


def rows(root: Path) -> Iterator[Row]:
    """Yield the rows of all tests. Raise TypeError if the arguments of a mark are not three string literals."""
    for path in sorted((root / "tests").rglob("test_*.py")):
        body = ast.parse(path.read_text()).body
        constants = dict(_constants(body))
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                test = f"{path.relative_to(root / 'tests')}::{node.name}"
                for decorator in node.decorator_list:
                    yield from (Row(*texts, test) for texts in _marks(decorator, constants))


def render(table: list[Row]) -> str:
    """Return the page as Markdown."""
    parts = [HEAD]
    for topic, title in TOPICS.items():
        parts.append(f"## {title}\n\n| Fault | Behaviour | Test |\n|---|---|---|")
        parts += [f"| {row.fault} | {row.behaviour} | `{row.test}` |" for row in table if row.topic == topic]
        parts.append("")
    return "\n".join(parts)


def _constants(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names and values that a module defines, such as a table of parameters."""
    for statement in body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                yield name, value


def _marks(decorator: ast.expr, constants: dict[str, ast.expr]) -> Iterator[tuple[str, str, str]]:
    """Yield the arguments of the marks in a decorator and in the constants that it names."""
    named = [constants[node.id] for node in ast.walk(decorator) if isinstance(node, ast.Name) and node.id in constants]
    for node in (node for expression in (decorator, *named) for node in ast.walk(expression)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault":
            texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            match texts:
                case [str(topic), str(fault), str(behaviour)]:
                    yield topic, fault, behaviour
                case _:
                    raise TypeError(f"The arguments of the mark are not three string literals: {ast.unparse(node)}")


if __name__ == "__main__":
    TABLE.write_text(render(list(rows(ROOT))))
