"""Provide both transports, and a check of what they leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from trio.testing import MockClock

from ...runtime.survivors import Survivors
from .transports import TRANSPORTS, InProcess, SlowDaemon, Transport, children


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> Transport:
    """In this process, and by a daemon."""
    name: str = request.param
    return TRANSPORTS[name]


@pytest.fixture(params=[InProcess, SlowDaemon], ids=["in process", "daemon"])
def timed_transport(request: pytest.FixtureRequest) -> Transport:
    """In this process, and by a daemon on a slow clock."""
    transport: Transport = request.param
    return transport


@pytest.fixture
def clock() -> MockClock:
    """The clock of the test, which runs as any other and which the test can move forward."""
    return MockClock(rate=1.0)


@pytest.fixture
def survivors(tmp_path: Path) -> Iterator[Survivors]:
    """What is left of runs in `tmp_path`; nothing any more after the test."""
    found = Survivors(tmp_path)
    yield found
    found.kill()


@pytest.fixture(autouse=True)
def _nothing_is_left(survivors: Survivors) -> Iterator[None]:
    """No test leaves a daemon, a guard or an agent."""
    before = children()
    yield
    assert [pid for pid in children() if pid not in before] == []
    assert survivors.soon() == []
