"""Test the inbox: the order of answers, and the conditions for waiting."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from codex_adapter.protocols.mailbox.inbox import Inbox, InboxState
from codex_adapter.protocols.mailbox.messages import MOST_ANSWER_BYTES

from ...needs import without

pytestmark = pytest.mark.rule("I13")

WHOLE = "[MESSAGE]\nhi\n[/MESSAGE]\n"


def put(directory: Path, name: str, text: str = WHOLE, *, age: float = 60) -> Path:
    """An answer that was last changed so many seconds ago."""
    path = directory / name
    path.write_text(text)
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def scan(directory: Path) -> InboxState:
    """What an inbox sees at once."""
    return Inbox(directory).scan()


def names(seen: InboxState) -> list[str]:
    """Those that are whole."""
    return [path.name for path in seen.complete]


def test_answers_are_taken_the_oldest_first_whatever_they_are_called(tmp_path: Path) -> None:
    put(tmp_path, "b.txt", age=20)
    put(tmp_path, "a.TXT", age=10)
    put(tmp_path, "z \u00e9 (1).txt", age=30)
    assert names(scan(tmp_path)) == ["z \u00e9 (1).txt", "b.txt", "a.TXT"]


def test_what_is_no_text_file_is_left_where_it_is(tmp_path: Path) -> None:
    for name in (".hidden.txt", "answer.md", "answer.txt.part", "._answer.txt", ".answer.txt.swp"):
        put(tmp_path, name)
    (tmp_path / "directory.txt").mkdir()
    (tmp_path / "link.txt").symlink_to(put(tmp_path, "elsewhere"))
    os.mkfifo(tmp_path / "fifo.txt")
    assert scan(tmp_path) == InboxState((), None, (), None, others=("answer.md", "answer.txt.part", "elsewhere"))


def test_one_that_has_just_changed_is_waited_for_a_second(tmp_path: Path) -> None:
    put(tmp_path, "old.txt")
    put(tmp_path, "new.txt", age=0.5)
    seen = scan(tmp_path)
    assert (names(seen), seen.partial) == (["old.txt"], "new.txt")
    assert seen.retry_in is not None
    assert 0 < seen.retry_in <= 0.5
    assert names(scan(tmp_path)) == ["old.txt"]


@pytest.mark.fault("mailbox", "The inbox contains half of an answer", "The mailbox waits for the rest")
@pytest.mark.parametrize("text", ["", '[CREATE_FILE path="a"]\nhalf of', "[RUN_COMMAND]\nrm -r build"])
def test_one_with_an_unclosed_block_is_waited_for_ten_seconds(tmp_path: Path, text: str) -> None:
    put(tmp_path, "half.txt", text, age=5)
    put(tmp_path, "next.txt", age=4)
    seen = scan(tmp_path)
    assert (seen.complete, seen.partial) == ((), "half.txt")
    assert seen.retry_in is not None
    assert 4 < seen.retry_in <= 5
    put(tmp_path, "half.txt", text, age=11)
    assert names(scan(tmp_path)) == ["half.txt", "next.txt"]


def test_half_of_a_character_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "half.txt").write_bytes("[MESSAGE]\n\u00e9".encode()[:-1])
    os.utime(tmp_path / "half.txt", (time.time() - 5,) * 2)
    assert scan(tmp_path).partial == "half.txt"


@pytest.mark.fault(
    "mailbox", "Another process has an answer open for writing", "The mailbox waits, even if the file does not change"
)
def test_one_that_somebody_has_open_for_writing_is_waited_for(tmp_path: Path) -> None:
    path = put(tmp_path, "open.txt")
    with path.open("a"):
        seen = scan(tmp_path)
        assert seen == InboxState((), "open.txt", (), 1.0, open_elsewhere=True)
    with path.open():
        assert names(scan(tmp_path)) == ["open.txt"]


def test_a_clock_that_goes_wrong_holds_up_nothing_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "tomorrow.txt", age=-86_400)
    inbox = Inbox(tmp_path)
    assert inbox.scan().partial == "tomorrow.txt"
    later = time.monotonic() + 1.5
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert names(inbox.scan()) == ["tomorrow.txt"]


def test_a_change_begins_the_wait_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.txt", age=-10)
    inbox = Inbox(tmp_path)
    assert inbox.scan().partial == "a.txt"
    later = time.monotonic() + 1.5
    put(tmp_path, "a.txt", WHOLE + WHOLE, age=-20)
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert inbox.scan().partial == "a.txt"


def test_a_huge_one_is_whole_once_it_rests(tmp_path: Path) -> None:
    put(tmp_path, "huge.txt", "[MESSAGE]\n" + "x" * MOST_ANSWER_BYTES, age=5)
    assert names(scan(tmp_path)) == ["huge.txt"]


@without("user", os.geteuid() == 0)
def test_one_that_cannot_be_read_is_named_and_holds_up_no_other(tmp_path: Path) -> None:
    put(tmp_path, "secret.txt").chmod(0)
    put(tmp_path, "other.txt")
    seen = scan(tmp_path)
    assert (names(seen), seen.unreadable) == (["other.txt"], ("secret.txt",))


@pytest.mark.fault(
    "mailbox", "A user saves an answer as `answer.md`", "The mailbox leaves the file in place and emits a remark"
)
def test_what_is_no_answer_is_named_once_it_rests(tmp_path: Path) -> None:
    put(tmp_path, "answer.md")
    put(tmp_path, "answer.txt.part", age=5)
    put(tmp_path, ".hidden")
    (tmp_path / "link.txt").symlink_to(put(tmp_path, "other.txt"))
    os.utime(tmp_path / "link.txt", (0, 0), follow_symlinks=False)
    seen = scan(tmp_path)
    assert (names(seen), seen.others) == (["other.txt"], ("answer.md", "link.txt"))


def test_of_many_that_are_no_answers_the_first_are_named(tmp_path: Path) -> None:
    for number in range(12):
        put(tmp_path, f"{number:02}.md")
    assert scan(tmp_path).others == tuple(f"{number:02}.md" for number in range(10))


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    scan(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.fault(
    "mailbox",
    "A process opens an answer while the mailbox checks which processes have it open",
    "No signal of the kernel ends the mailbox",
)
def test_somebody_who_opens_it_while_we_look_does_not_end_us(tmp_path: Path) -> None:
    path = put(tmp_path, "a.txt")
    stop = threading.Event()

    def open_again_and_again() -> None:
        while not stop.is_set():
            path.open("a").close()

    opener = threading.Thread(target=open_again_and_again)
    opener.start()
    try:
        for _ in range(300):
            scan(tmp_path)
    finally:
        stop.set()
        opener.join()
