"""Configure the searches of hypothesis, and reset the state that tests must not inherit."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("gate", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("nightly", deadline=None, max_examples=10_000, print_blob=True)
# `--hypothesis-profile` comes later and wins.
settings.load_profile("gate")


def pytest_configure() -> None:
    """Whoever starts the tests by `nohup`, or in the background of a script, makes them ignore signals: not these."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)


@pytest.fixture
def alone_with_orphans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no other test of this run of pytest list, leave or end orphans, which are those of the whole machine."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent  # all workers have it
    with (place / "orphans.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
