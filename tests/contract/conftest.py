"""Provide the command line in a temporary directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..cli.command import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line as a process."""
    return Cli(tmp_path)
