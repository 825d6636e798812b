"""The recordings of the real CLI, for every test that takes `recording` and `returncode`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CODEX = Path(__file__).parents[2] / "fixtures" / "codex"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recording" in metafunc.fixturenames:
        rows = [json.loads(line) for line in (CODEX / "index.jsonl").read_text().splitlines()]
        metafunc.parametrize(
            ("recording", "returncode"),
            [(CODEX / row["version"] / f"{row['scenario']}.jsonl", row["returncode"]) for row in rows],
            ids=[f"{row['version']}-{row['scenario']}" for row in rows],
        )
