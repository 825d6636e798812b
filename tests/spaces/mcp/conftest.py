"""Provide directories for servers, and check that they leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codex_adapter.spaces import Server

from ...faults.leftovers import descriptors
from ...runtime.survivors import Survivors
from .servers import scripted

__all__ = ["serving", "survivors"]


@pytest.fixture
def survivors(tmp_path: Path) -> Iterator[Survivors]:
    """What is left of servers that work in the test's directory; nothing after the test, and no open descriptor."""
    found = Survivors(tmp_path)
    before = descriptors().keys()
    try:
        yield found
        assert found.now() == []
        assert descriptors().keys() <= before  # one that an earlier test left to the collector may be gone
    finally:
        found.kill()


@pytest.fixture
def serving(tmp_path: Path, survivors: Survivors) -> Callable[[str], Server]:
    """Servers that follow a script, and are found among the survivors."""
    return lambda script: scripted(tmp_path, script, env=survivors.env)
