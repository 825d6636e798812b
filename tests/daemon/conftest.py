"""Provide a daemon for one test, and a daemon that many tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .supervisor import Supervisor
from .workshop import Workshop


@pytest.fixture
def workshop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Workshop]:
    """A directory for daemons; after a test that went well, they must have kept all rules and left nothing."""
    shop = Workshop(tmp_path)
    yield shop
    shop.finish()


@pytest.fixture
def daemon(workshop: Workshop) -> Supervisor:
    """A daemon of the test's own."""
    return workshop.daemon()


@pytest.fixture(scope="module")
def shared_workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """A directory for the one daemon of a module's tests."""
    shop = Workshop(tmp_path_factory.mktemp("shared"))
    yield shop
    shop.finish()


@pytest.fixture(scope="module")
def shared(shared_workshop: Workshop) -> Supervisor:
    """One daemon for a module's tests, none of which ends it."""
    return shared_workshop.daemon()
