"""Configure the searches of hypothesis, and reset the state that tests must not inherit."""

from __future__ import annotations

import faulthandler
import fcntl
import os
import signal
import sysconfig
from collections.abc import Generator, Iterator
from types import FrameType

import pytest
from hypothesis import settings

from .needs import summary

settings.register_profile("gate", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("nightly", deadline=None, max_examples=10_000, print_blob=True)
# `--hypothesis-profile` comes later and wins.
settings.load_profile("gate")


def pytest_configure() -> None:
    """Let tests find the programs of this environment, and take signals.

    Whoever starts the tests by `nohup`, or in the background of a script, makes them ignore signals: not these.
    """
    os.environ["PATH"] = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the time that a test may take, from its fixtures to their end."""
    parser.addoption(
        "--hangs-after",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="0 for never; five times as many with a real CLI",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Fail a test that hangs, with the stacks of its threads, and nothing but that test.

    The alarm is repeated, because what a failing test leaves by may wait for the same thing.
    """
    seconds = item.config.getoption("hangs_after") * (5 if item.get_closest_marker("real") else 1)

    def fail(_number: int, _frame: FrameType | None) -> None:
        faulthandler.dump_traceback(2)
        pytest.fail(f"hangs: not at its end after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds, 10)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the reason of a skip in an asynchronous test, which pytest-trio raises again without it."""
    report = yield
    group = call.excinfo.value.__context__ if call.excinfo is not None else None
    if report.skipped and isinstance(group, BaseExceptionGroup) and isinstance(report.longrepr, tuple):
        while isinstance(group, BaseExceptionGroup):
            group = group.exceptions[0]
        report.longrepr = (*report.longrepr[:2], str(group))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name each thing that was missing, once, with the way to have it."""
    reports = terminalreporter.getreports("skipped")
    lines = summary(report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple))
    if lines:
        terminalreporter.section("skipped, because this machine lacks something")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture
def alone_with_orphans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no other test of this run of pytest list, leave or end orphans, which are those of the whole machine."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent  # all workers have it
    with (place / "orphans.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
