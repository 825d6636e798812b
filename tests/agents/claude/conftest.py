"""Provide the recordings of the real CLI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RECORDINGS = Path(__file__).parents[3] / "fixtures" / "claude_code"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recording" in metafunc.fixturenames:
        rows = [json.loads(line) for line in (RECORDINGS / "index.jsonl").read_text().splitlines()]
        metafunc.parametrize(
            ("recording", "returncode"),
            [(RECORDINGS / row["version"] / f"{row['scenario']}.jsonl", row["returncode"]) for row in rows],
            ids=[f"{row['version']}-{row['scenario']}" for row in rows],
        )
