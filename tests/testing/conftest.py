"""Find the real CLI for the tests of this directory."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from ..needs import missing


@pytest.fixture(scope="session")
def codex() -> str:
    """The real Codex CLI: `$CODEX_BINARY`, else that of the installed wheel; without one the test is skipped."""
    named = os.environ.get("CODEX_BINARY")
    if named:
        return named
    spec = importlib.util.find_spec("codex_cli_bin")
    if spec is None or spec.origin is None:
        missing("codex")
    return str(Path(spec.origin).parent / "bin" / "codex")
