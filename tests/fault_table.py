"""`python -m tests.fault_table` writes docs/reference/faults.md: every fault that a test brings about, as the tests' marks say.

A row is a mark `@pytest.mark.fault(topic, fault, right_behaviour)`, on a test or on one of its parameters.
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
    "spawning": "Spawning",
    "stream": "The agent's output",
    "timing": "Time and order",
    "consumer": "Consumers and supervisors",
    "signals": "Signals",
    "resources": "Resources",
    "environment": "The environment",
    "daemon": "The daemon",
    "workspace": "Workspaces",
    "mailbox": "Mailboxes",
    "turns": "Turns and spaces",
}
HEAD = """\
# Faults

What goes wrong around a run, what happens then, and the test that brings it about. Written by `python -m
tests.fault_table` from the marks `fault` on the tests; change it there.
"""


class Row(NamedTuple):
    """One fault; `test` is the file's path from tests/ and the test's name."""

    topic: str
    fault: str
    behaviour: str
    test: str


def rows(root: Path) -> Iterator[Row]:
    """The rows of all tests. Raises TypeError for a mark that is not three plain texts."""
    for path in sorted((root / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                test = f"{path.relative_to(root / 'tests')}::{node.name}"
                yield from (Row(*texts, test) for decorator in node.decorator_list for texts in _marks(decorator))


def render(table: list[Row]) -> str:
    """The page."""
    parts = [HEAD]
    for topic, title in TOPICS.items():
        parts.append(f"## {title}\n\n| fault | right behaviour | test |\n|---|---|---|")
        parts += [f"| {row.fault} | {row.behaviour} | `{row.test}` |" for row in table if row.topic == topic]
        parts.append("")
    return "\n".join(parts)


def _marks(decorator: ast.expr) -> Iterator[tuple[str, str, str]]:
    for node in ast.walk(decorator):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault":
            texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            match texts:
                case [str(topic), str(fault), str(behaviour)]:
                    yield topic, fault, behaviour
                case _:
                    raise TypeError(f"not three plain texts: {ast.unparse(node)}")


if __name__ == "__main__":
    TABLE.write_text(render(list(rows(ROOT))))
