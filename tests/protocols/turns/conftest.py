"""Provide daemons of control planes for the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ...daemon.workshop import Workshop
from .control_plane import ControlPlane


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    """A directory for daemons; after a test that went well, they must have kept all rules and left nothing."""
    shop = Workshop(tmp_path)
    yield shop
    shop.finish()


@pytest.fixture(scope="module")
def shared_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane whose daemon serves the tests of a module that leave it as it was."""
    shop = Workshop(tmp_path_factory.mktemp("shared"))
    yield ControlPlane(shop)
    shop.finish()


@pytest.fixture
def plane(workshop: Workshop) -> ControlPlane:
    """A control plane with a daemon of the test's own."""
    return ControlPlane(workshop)
