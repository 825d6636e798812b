"""Test the wait for a change in a directory, with and without file notifications."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trio
import trio.testing

from codex_adapter.protocols.mailbox.watching import watched

pytestmark = pytest.mark.rule("I16")


async def test_the_system_tells_of_what_arrives(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with watched(tmp_path) as watch:
        assert watch.notified
        for change in (
            lambda: (tmp_path / "a.txt.part").write_text("x"),
            lambda: (tmp_path / "a.txt.part").rename(tmp_path / "a.txt"),
            lambda: (tmp_path / "a.txt").chmod(0o600),
        ):
            change()
            await watch.changed()
            assert trio.current_time() == 0


async def test_one_looks_all_the_same_where_nothing_is_told(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    with watched(tmp_path) as watch:
        await watch.changed()
        assert trio.current_time() == 10
        await watch.changed(0.25)
        assert trio.current_time() == 10.25


@pytest.mark.fault("mailbox", "The notification library is not installed", "The mailbox checks the inbox every second")
async def test_without_the_library_one_looks_every_second(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inotify_simple", None)
    with watched(tmp_path) as watch:
        assert not watch.notified
        await watch.changed()
        assert trio.current_time() == 1


@pytest.mark.fault("mailbox", "The system has no file notifications left", "The mailbox checks the inbox every second")
async def test_where_the_directory_cannot_be_watched_one_looks_every_second(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    with watched(tmp_path / "nothing") as watch:
        await watch.changed(5)
        assert trio.current_time() == 1
