"""Where the tests of this directory find the real CLI."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from codex_adapter.testing import demo_script, write_agent


@pytest.fixture(scope="session")
def codex() -> str:
    """The real Codex CLI: `$CODEX_BINARY`, else that of the installed wheel; without one the test is skipped."""
    named = os.environ.get("CODEX_BINARY")
    if named:
        return named
    spec = importlib.util.find_spec("codex_cli_bin")
    if spec is None or spec.origin is None:
        pytest.skip("no Codex CLI: install openai-codex-cli-bin, or name one in CODEX_BINARY")
    return str(Path(spec.origin).parent / "bin" / "codex")


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """A scripted agent that takes any prompt and plays the demo."""
    return write_agent(tmp_path / "agent", demo_script())
