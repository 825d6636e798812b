"""Provide an empty `aspHome` for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from .spaces_stage import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)
