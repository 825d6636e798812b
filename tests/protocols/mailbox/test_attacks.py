"""Test mailboxes with unexpected content: links, aliases, and records that the product did not write."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from codex_adapter.protocols.mailbox.layout import MailboxError, MailboxLayout, MailboxRefusal
from codex_adapter.protocols.mailbox.session_store import SessionSettings, SessionStore

from ...needs import missing, without
from .bench import Bench

pytestmark = pytest.mark.rule("I12", "I15")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def settings(bench: Bench) -> Path:
    """What the only session needs to go on."""
    [path] = (bench.places.root / "rounds").glob("????????.json")
    return path


@pytest.mark.fault(
    "mailbox",
    "A user moves the mailbox into its workspace",
    "The session is refused, because an agent could answer itself",
)
async def test_a_mailbox_that_was_moved_into_its_workspace_is_refused(bench: Bench) -> None:
    async with bench.begin():
        pass
    bench.places = MailboxLayout(bench.places.root.rename(bench.root / "mailbox"))
    with pytest.raises(MailboxRefusal, match="it is in the workspace, where an agent could write its own answers"):
        async with bench.resume():
            pass


@pytest.mark.parametrize("name", ["inbox", "sessions", "rounds", "processed", "outbox"])
async def test_no_directory_of_a_mailbox_leads_into_the_workspace(bench: Bench, name: str) -> None:
    async with bench.begin():
        pass
    (bench.places.root / name).rename(bench.root / name)
    (bench.places.root / name).symlink_to(bench.root / name)
    with pytest.raises(MailboxRefusal, match="it is in the workspace"):
        async with bench.resume():
            pass


async def test_a_workspace_around_which_a_directory_of_the_mailbox_lies_is_refused(bench: Bench) -> None:
    bench.places.root.mkdir()
    (bench.places.root / "outbox").symlink_to(bench.root.parent)
    with pytest.raises(MailboxRefusal, match="the workspace is in one of its directories"):
        async with bench.begin():
            pass


@pytest.mark.fault(
    "mailbox", "A link replaces the workspace of a session", "The session does not continue in the target of the link"
)
async def test_a_session_does_not_follow_a_link_in_place_of_its_workspace(bench: Bench) -> None:
    async with bench.begin():
        pass
    bench.root.rename(bench.root.with_name("moved"))
    bench.root.symlink_to("/")
    with pytest.raises(MailboxRefusal, match=r"was replaced by a link\. Move the workspace back"):
        async with bench.resume():
            pass


@pytest.mark.parametrize("workspace", ["", "workspace", "a\0b", None])
async def test_settings_without_a_path_are_damaged(
    bench: Bench, workspace: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.root.parent)
    async with bench.begin():
        pass
    settings(bench).write_text(json.dumps({"workspace": workspace}))
    with pytest.raises(MailboxError, match=r"^rounds/[0-9a-f]{8}\.json is damaged. Restore it$"):
        async with bench.resume():
            pass


async def test_a_record_that_is_missing_is_named(bench: Bench) -> None:
    async with bench.begin():
        pass
    settings(bench).unlink()
    with pytest.raises(
        MailboxError, match=r"^rounds/[0-9a-f]{8}\.json cannot be read \(No such file or directory\)\. "
    ):
        async with bench.resume():
            pass


@pytest.mark.rule("I13")
@without("system", not Path("/dev/shm").is_dir())
@pytest.mark.fault(
    "mailbox", "The inbox is on another file system", "The error explains the next step, and no command runs"
)
async def test_an_inbox_on_another_file_system_is_told(bench: Bench) -> None:
    elsewhere = Path(f"/dev/shm/codex-adapter-{os.getpid()}")
    async with bench.begin() as session:
        elsewhere.mkdir()
        try:
            if elsewhere.stat().st_dev == bench.root.stat().st_dev:
                missing("system")
            bench.places.inbox.rmdir()
            bench.places.inbox.symlink_to(elsewhere)
            answer = bench.put("[MESSAGE]\nhi\n[/MESSAGE]\n")
            with pytest.raises(MailboxError, match=r"^inbox/ and processed/ are on different file systems"):
                await session.execute([answer])
            assert answer.exists()
        finally:
            bench.places.inbox.unlink()
            for left in elsewhere.iterdir():
                left.unlink()
            elsewhere.rmdir()


def test_a_lock_that_is_no_file_is_a_lock(bench: Bench) -> None:
    bench.places.make()
    os.mkfifo(bench.places.root / "lock")
    with bench.places.locked() as for_session:
        for_session("0123abcd")


def test_a_path_from_a_directory_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(MailboxError, match=r"^its path cannot be resolved \(No such file .*. Use an absolute path$"):
        MailboxLayout("mailbox")


def test_sessions_of_one_second_stand_in_the_order_in_which_they_began(bench: Bench) -> None:
    bench.places.make()
    states = SessionStore(bench.places, lambda: "2025-01-15T10:30:00Z")
    begun = [states.begin(str(number), SessionSettings("/")).session_id for number in range(8)]
    for later, id_ in enumerate(begun):
        os.utime(bench.places.settings_file(id_), ns=(later, later))
    assert [state.session_id for state in states.all()] == begun
