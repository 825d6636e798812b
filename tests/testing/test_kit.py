"""Test that the test kit works without the runtime and loads few modules."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import codex_adapter.testing

pytestmark = pytest.mark.rule("TK1", "TK2", "TK3")


def _imported(path: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(Path(path).read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {"." * node.level + (node.module or "") for node in nodes if isinstance(node, ast.ImportFrom)}


def test_the_package_imports_the_standard_library_and_msgspec_alone() -> None:
    code = "import sys, codex_adapter.testing\n"
    code += "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('codex_adapter.testing')), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    imported = {name for path in done.stdout.splitlines() for name in _imported(path)}
    foreign = {name.split(".")[0] for name in imported if not name.startswith(".")} - sys.stdlib_module_names
    assert foreign == {"msgspec", "typing_extensions"}
    assert [
        name for name in imported if name.lstrip(".").split(".")[0] in ("core", "runtime", "cli", "protocols")
    ] == []


def test_all_its_names_are_there() -> None:
    names = codex_adapter.testing.__all__
    assert [name for name in names if not hasattr(codex_adapter.testing, name)] == []


@pytest.mark.parametrize("module", ["agent_program", "agent_arguments", "agent_descendants", "mcp_server"])
def test_what_runs_by_itself_needs_the_standard_library_alone(module: str) -> None:
    path = Path(codex_adapter.testing.__file__).with_name(f"{module}.py")
    assert {name.split(".")[0] for name in _imported(str(path))} <= sys.stdlib_module_names
