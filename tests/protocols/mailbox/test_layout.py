"""Test the directory of a mailbox: atomic writes and one process at a time."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from codex_adapter.protocols.mailbox.layout import MailboxError, MailboxLayout, append_line, write_whole

ID = "a1b2c3d4"


@pytest.fixture
def places(tmp_path: Path) -> MailboxLayout:
    made = MailboxLayout(tmp_path / "mailbox")
    made.make()
    return made


@pytest.mark.rule("I12")
def test_files_have_the_names_that_the_protocol_gives_them(places: MailboxLayout) -> None:
    assert places.outbox_file(ID, 1) == places.root / "outbox" / "a1b2c3d4_seq0001.txt"
    assert places.outbox_file(ID, 12345).name == "a1b2c3d4_seq12345.txt"
    assert places.session_file(ID) == places.root / "sessions" / "a1b2c3d4.json"
    assert stat.S_IMODE(places.root.stat().st_mode) == 0o700
    assert sorted(path.name for path in places.root.iterdir()) == [
        *("inbox", "journal", "outbox", "processed", "rounds", "sessions")
    ]


@pytest.mark.rule("I12")
def test_sessions_are_what_has_the_name_of_one(places: MailboxLayout) -> None:
    for name in ("a1b2c3d4.json", "00000000.json", "a1b2c3d4.json.tmp", "A1B2C3D4.json", "notes.json", "a1b2c3d.json"):
        (places.root / "sessions" / name).touch()
    assert places.sessions() == ["00000000", "a1b2c3d4"]


@pytest.mark.rule("I12")
def test_a_file_is_replaced_at_one_stroke_and_what_a_killed_writer_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    (tmp_path / "file.tmp").write_bytes(b"half of")
    write_whole(path, b"one")
    with path.open("rb") as before:
        write_whole(path, b"two")
        assert before.read() == b"one"
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.rule("I12")
@pytest.mark.fault(
    "mailbox",
    "A link has the name of the temporary file",
    "The mailbox removes the link and does not change its target",
)
def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"as it was")
    (tmp_path / "file.tmp").symlink_to("precious")
    write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "precious").read_bytes() == b"as it was"
    assert not (tmp_path / "file").is_symlink()


@pytest.mark.rule("I12", "I14")
def test_what_cannot_be_written_is_an_error_that_names_the_directory(tmp_path: Path) -> None:
    (tmp_path / "taken" / "below").mkdir(parents=True)
    with pytest.raises(MailboxError, match=f"^{tmp_path.name}/ cannot be written to "):
        write_whole(tmp_path / "taken", b"new")
    with pytest.raises(MailboxError, match=f"^{tmp_path.name}/ cannot be written to "):
        append_line(tmp_path / "taken", b"line\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


@pytest.mark.rule("I15")
def test_a_second_process_is_told_who_is_at_work(places: MailboxLayout) -> None:
    with places.locked() as for_session:
        with pytest.raises(MailboxError, match=r"^another process uses it"), places.locked():
            pass
        for_session(ID)
        with pytest.raises(MailboxError, match=f"^session {ID} uses it .process {os.getpid()}."):
            with places.locked():
                pass
    with places.locked():
        pass


@pytest.mark.rule("I15")
def test_a_lock_with_anything_in_it_is_a_lock(places: MailboxLayout) -> None:
    (places.root / "lock").write_bytes(b"\x1b[2J" * 100)
    with places.locked():
        (places.root / "lock").write_bytes(b"\x1b[2J" * 100)
        with (
            pytest.raises(MailboxError, match=r"^another process uses it. Wait until that process ends$"),
            places.locked(),
        ):
            pass


@pytest.mark.rule("I12")
def test_what_is_no_directory_is_no_mailbox(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MailboxError, match=r"^its directories cannot be created"):
        MailboxLayout(tmp_path / "file").make()
    with pytest.raises(MailboxError, match=r"^the mailbox does not exist"):
        MailboxLayout(tmp_path / "nothing").require()
