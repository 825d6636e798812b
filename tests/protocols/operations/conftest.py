"""Provide fixtures for the tests of operations."""

from __future__ import annotations

from pathlib import Path

import pytest

from .workbench import Workbench


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    """A workspace and a state of the test's own."""
    return Workbench(tmp_path)
