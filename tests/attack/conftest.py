"""Provide hostile surroundings as fixtures, in which any command can start with its own directory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .launch import SURROUNDINGS
from .scene import Scene, scene_in

__all__: list[str] = []


@pytest.fixture(params=SURROUNDINGS)
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """The command line in each surrounding that this machine allows."""
    with scene_in(request.param) as found:
        yield found
