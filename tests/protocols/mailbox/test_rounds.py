"""Test that the next process reads the journal of a round again."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_adapter.protocols.mailbox.layout import MailboxError
from codex_adapter.protocols.mailbox.messages import CommandResult
from codex_adapter.protocols.mailbox.rounds import AnswerRecord, Begun, ChangeIntent, Finished, RoundJournal

pytestmark = pytest.mark.rule("I14")

OK = CommandResult("CREATE_FILE", success=True, summary="Created 'a'")
FAILED = CommandResult("RUN_COMMAND", success=False, summary="Ran 'false' (exit code 1)", output="no\nno")


def filled(path: Path) -> RoundJournal:
    """A journal with some of everything."""
    journal = RoundJournal(path)
    journal.add(AnswerRecord(1, b"\x00\xff"))
    journal.add(Begun(1, 0, ChangeIntent(None, b"\x01")))
    journal.add(Finished(1, 0, OK))
    journal.add(AnswerRecord(2, b"\x02"))
    journal.add(Begun(2, 0))
    journal.add(Finished(2, 0, FAILED))
    journal.add(Finished(1, 1, OK, "a"))
    journal.add(Finished(2, 1, OK, "a"))
    journal.add(Begun(2, 2, ChangeIntent(b"?", None)))
    return journal


def facts(journal: RoundJournal) -> list[object]:
    """All that it tells."""
    places = [(position, index) for position in (1, 2) for index in range(4)]
    return [
        *(journal.digest(position) for position in (1, 2, 3)),
        *(journal.begun(*place) for place in places),
        *(journal.finished(*place) for place in places),
        *(journal.results, journal.requested),
    ]


def test_who_goes_on_knows_what_was_written(tmp_path: Path) -> None:
    written = filled(tmp_path / "round")
    assert facts(RoundJournal(tmp_path / "round")) == facts(written)
    assert written.results == (OK, OK, FAILED, OK)
    assert written.requested == ("a",)
    assert written.begun(2, 2) == Begun(2, 2, ChangeIntent(b"?", None))
    assert written.finished(2, 2) is None


def test_nothing_is_known_of_a_round_that_was_not_begun(tmp_path: Path) -> None:
    assert facts(RoundJournal(tmp_path / "round"))[-2:] == [(), ()]
    assert list(tmp_path.iterdir()) == []


def test_a_torn_last_line_is_as_if_it_had_not_been_begun(tmp_path: Path) -> None:
    path = tmp_path / "round"
    filled(path)
    whole = path.read_bytes()
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        RoundJournal(path)
        assert path.read_bytes() == whole[: whole.rfind(b"\n", 0, size) + 1]
    path.write_bytes(whole[:-1])
    RoundJournal(path).add(AnswerRecord(3, b""))
    assert (RoundJournal(path).begun(2, 2), RoundJournal(path).digest(3)) == (None, b"")


@pytest.mark.parametrize("line", [b"{}", b"\xff", b'{"type":"Finished","position":1}', b"[]", b""])
def test_a_damaged_journal_is_not_gone_on_with(tmp_path: Path, line: bytes) -> None:
    filled(tmp_path / "round")
    with (tmp_path / "round").open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(MailboxError, match=r"^the journal of the round is damaged"):
        RoundJournal(tmp_path / "round")
