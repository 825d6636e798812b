"""Test sessions: their outboxes, rounds of answers, and the result of every command."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
import trio
import trio.testing

from codex_adapter.agents import known_places
from codex_adapter.protocols.mailbox.events import (
    AnswerAccepted,
    CommandFinished,
    ModelMessage,
    OutboxWritten,
    SessionCompleted,
)
from codex_adapter.protocols.mailbox.layout import MailboxError
from codex_adapter.protocols.mailbox.messages import CommandResult
from codex_adapter.protocols.mailbox.opening import begin_session, end_session, open_session, sessions

from .bench import Bench, names_in

CREATE = '[CREATE_FILE path="{}"]\n{}\n[/CREATE_FILE]\n'
RUN = "[RUN_COMMAND]\n{}\n[/RUN_COMMAND]\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def told(results: list[CommandResult]) -> list[tuple[str, bool, str]]:
    """Results without what commands printed."""
    return [(result.command, result.success, result.summary) for result in results]


@pytest.mark.rule("I12")
async def test_a_session_has_the_files_that_the_protocol_says(bench: Bench) -> None:
    async with bench.begin("Create a calculator app") as session:
        id_ = session.state.session_id
        assert len(id_) == 8
        assert int(id_, 16) >= 0
        state = json.loads(bench.places.session_file(id_).read_bytes())
        assert list(state) == [
            *("sessionId", "task", "sequenceNumber", "isComplete", "createdAt", "updatedAt", "lastResults"),
            "readFileRequests",
        ]
        assert (state["sessionId"], state["task"]) == (id_, "Create a calculator app")
        assert (state["sequenceNumber"], state["isComplete"], state["lastResults"]) == (1, False, [])
        assert names_in(bench.places.outbox) == [f"{id_}_seq0001.txt"]
        await bench.answered(session, CREATE.format("a.txt", "one") + '[READ_FILE path="a.txt"]\n')
        state = json.loads(bench.places.session_file(id_).read_bytes())
        assert state["sequenceNumber"] == 2
        assert state["lastResults"] == [
            {"command": "CREATE_FILE", "success": True, "summary": "Created 'a.txt'"},
            {"command": "READ_FILE", "success": True, "summary": "The content of 'a.txt' is below"},
        ]
        assert state["readFileRequests"] == ["a.txt"]
        assert names_in(bench.places.outbox) == [f"{id_}_seq0001.txt", f"{id_}_seq0002.txt"]
        assert names_in(bench.places.inbox) == []
        assert names_in(bench.places.processed) == [f"{id_}_seq0001_01_0.txt"]


@pytest.mark.rule("I7", "I8", "I9")
async def test_the_next_outbox_tells_what_came_of_the_answer(bench: Bench) -> None:
    bench.write("src/old.py", "pass\n")
    bench.write(".git/config", "[core]\n")
    async with bench.begin() as session:
        assert "  src/old.py (5 bytes)\n" in session.outbox.read_text()
        assert ".git" not in session.outbox.read_text().partition("=== CONTEXT ===")[2].replace("(.git", "")
        await bench.answered(
            session,
            CREATE.format("src/new.py", "print(1)")
            + RUN.format("cat src/new.py; exit 3")
            + '[EDIT_FILE path="src/Missing.cs" start_line="1" end_line="1"]\nx\n[/EDIT_FILE]\n'
            + '[READ_FILE path="./src//old.py"]\n[READ_FILE path="src/old.py"]\n[DELETE_FILE path="src/new.py"]\n',
        )
        text = session.outbox.read_text()
    assert (
        "## Previous Command Results\n"
        "[OK] CREATE_FILE: Created 'src/new.py'\n"
        "[FAILED] RUN_COMMAND: Ran 'cat src/new.py; exit 3' (exit code 3)\n"
        "  Output: print(1)\n"
        "[FAILED] EDIT_FILE: File 'src/Missing.cs' not found\n"
    ) in text
    assert text.count("--- src/old.py ---\npass\n--- end src/old.py ---\n") == 1
    assert "[OK] DELETE_FILE: Deleted 'src/new.py'\n" in text
    assert "  src/new.py (" not in text


@pytest.mark.rule("I9")
@pytest.mark.parametrize(
    "path", ["../../../etc/passwd", "/etc/passwd", "a/../../b", "out/passwd", "up", "a/../b", "..", "/"]
)
async def test_paths_out_of_the_workspace_are_rejected(bench: Bench, path: str) -> None:
    (bench.root / "out").symlink_to("/etc")
    (bench.root / "up").symlink_to("../mailbox/lock")
    commands = [
        CREATE.format(path, "x"),
        f'[EDIT_FILE path="{path}" start_line="1" end_line="1"]\nx\n[/EDIT_FILE]\n',
        f'[READ_FILE path="{path}"]\n',
    ]
    async with bench.begin() as session:
        results = await bench.answered(session, "".join(commands))
        assert all(result.summary.startswith("REJECTED: Path is outside workspace") for result in results)
        assert not any(result.success for result in results)
        assert session.state.read_file_requests == ()
        (rejected,) = await bench.answered(session, '[DELETE_FILE path="../mailbox/lock"]\n')
        assert rejected.summary.startswith("REJECTED: Path is outside workspace")


@pytest.mark.rule("I9")
async def test_files_are_made_edited_and_deleted(bench: Bench) -> None:
    bench.write("keep.txt", b"a\r\nb\r\n")
    bench.write("image.png", b"\x89PNG\0\n")
    bench.write("latin.txt", b"caf\xe9\nx\n")
    (bench.root / "directory").mkdir()
    edit = '[EDIT_FILE path="{}" start_line="{}" end_line="{}"]\n{}[/EDIT_FILE]\n'
    async with bench.begin() as session:
        results = await bench.answered(
            session,
            CREATE.format("deep/er/new.txt", "  one\n\n\ttwo")
            + CREATE.format("deep/er/new.txt", "again")
            + '[CREATE_FILE path="empty.txt"]\n[/CREATE_FILE]\n'
            + CREATE.format("directory", "x")
            + CREATE.format("a\\b.txt", "x")
            + edit.format("keep.txt", 2, 2, "c\nd\n")
            + edit.format("latin.txt", 2, 2, "")
            + edit.format("image.png", 1, 1, "x\n")
            + edit.format("keep.txt", 3, 9, "x\n")
            + edit.format("keep.txt", 0, 1, "x\n")
            + edit.format("directory", 1, 1, "x\n")
            + '[READ_FILE path="image.png"]\n[READ_FILE path="nothing.txt"]\n[READ_FILE path="directory"]\n'
            + '[DELETE_FILE path="nothing.txt"]\n[DELETE_FILE path="directory"]\n[DELETE_FILE path="image.png"]\n',
        )
    assert told(results) == [
        ("CREATE_FILE", True, "Created 'deep/er/new.txt'"),
        ("CREATE_FILE", True, "Created 'deep/er/new.txt'"),
        ("CREATE_FILE", True, "Created 'empty.txt'"),
        ("CREATE_FILE", False, "'directory': Path is a directory. Name a file."),
        ("CREATE_FILE", False, "'a\\b.txt': Path has a backslash. Put / between its names"),
        ("EDIT_FILE", True, "Edited 'keep.txt' (lines 2 to 2 are now 2 lines)"),
        ("EDIT_FILE", True, "Edited 'latin.txt' (lines 2 to 2 are now 0 lines)"),
        ("EDIT_FILE", False, "Cannot edit 'image.png': the file is not text"),
        (
            "EDIT_FILE",
            False,
            "Cannot edit 'keep.txt': start_line 3 and end_line 9 are not lines of the file; it has 3 lines",
        ),
        (
            "EDIT_FILE",
            False,
            "Cannot edit 'keep.txt': start_line 0 and end_line 1 are not lines of the file; it has 3 lines",
        ),
        ("EDIT_FILE", False, "'directory': Path is a directory. Name a file."),
        ("READ_FILE", False, "'image.png': File is not UTF-8 text. Read it with RUN_COMMAND"),
        ("READ_FILE", False, "File 'nothing.txt' not found"),
        ("READ_FILE", False, "'directory': Path is a directory. Name a file."),
        ("DELETE_FILE", False, "File 'nothing.txt' not found"),
        ("DELETE_FILE", False, "'directory': Path is a directory. Only files can be deleted."),
        ("DELETE_FILE", True, "Deleted 'image.png'"),
    ]
    assert bench.content("deep/er/new.txt") == "again\n"
    assert bench.content("empty.txt") == ""
    assert bench.content("keep.txt") == "a\r\nc\r\nd\r\n"
    assert (bench.root / "latin.txt").read_bytes() == b"caf\xe9\n"


@pytest.mark.rule("I8")
async def test_files_too_large_to_be_shown_are_told_of(bench: Bench) -> None:
    bench.write("large.txt", "x" * 262_145)
    for number in range(5):
        bench.write(f"{number}.txt", "x" * 262_143 + "\n")
    async with bench.begin() as session:
        asked = "".join(f'[READ_FILE path="{name}.txt"]\n' for name in ("large", 0, 1, 2, 3, 4))
        results = await bench.answered(session, asked)
        text = session.outbox.read_text()
    assert [result.success for result in results] == [False, True, True, True, True, True]
    assert results[0].summary == "'large.txt': File is larger than 262144 bytes. Read a part of it with RUN_COMMAND"
    assert text.count("x" * 262_143) == 4
    told = "(not shown: all files together have more than 1048576 bytes. Request it again)"
    assert f"--- 4.txt ---\n{told}\n--- end 4.txt ---\n" in text


@pytest.mark.rule("I8")
async def test_what_is_asked_for_is_shown_as_it_is_in_the_end(bench: Bench) -> None:
    bench.write("a.txt", "before\n")
    bench.write("gone.txt", "before\n")
    async with bench.begin() as session:
        reads = '[READ_FILE path="a.txt"]\n[READ_FILE path="gone.txt"]\n'
        await bench.answered(session, reads + CREATE.format("a.txt", "after") + '[DELETE_FILE path="gone.txt"]\n')
        text = session.outbox.read_text()
        assert "--- a.txt ---\nafter\n--- end a.txt ---\n" in text
        assert "--- gone.txt ---\n(File not found)\n--- end gone.txt ---\n" in text
        await bench.answered(session, "[MESSAGE]\nhi\n[/MESSAGE]\n")
        assert "## Requested File Contents" not in session.outbox.read_text().partition("=== CONTEXT ===")[2]


@pytest.mark.rule("I10")
async def test_commands_run_in_the_workspace_with_both_outputs(bench: Bench) -> None:
    async with bench.begin() as session:
        results = await bench.answered(
            session,
            RUN.format("pwd; echo oops >&2; touch made")
            + RUN.format("kill -9 $$")
            + RUN.format("yes | head -c 100000; echo end")
            + RUN.format("true") * 2
            + RUN.format("cat; exit 0")
            + RUN.format("set -e\nfalse\necho not here"),
        )
        text = session.outbox.read_text()
    assert [(result.success, result.summary) for result in results] == [
        (True, "Ran 'pwd; echo oops >&2; touch made' (exit code 0)"),
        (False, "Ran 'kill -9 $$' (exit code 137)"),
        (True, "Ran 'yes | head -c 100000; echo end' (exit code 0)"),
        (True, "Ran 'true' (exit code 0)"),
        (True, "Ran 'true' (exit code 0)"),
        (True, "Ran 'cat; exit 0' (exit code 0)"),
        (False, "Ran 'set -e ...' (exit code 1)"),
    ]
    assert results[0].output == f"{bench.root}\n[stderr]\noops"
    assert "\n[... 96004 bytes left out ...]\n" in results[2].output
    assert f"  Output: {bench.root}\n    [stderr]\n    oops\n" in text
    assert (bench.root / "made").exists()


@pytest.mark.rule("I11")
async def test_words_are_shown_and_the_end_is_the_end(bench: Bench) -> None:
    async with bench.begin() as session:
        first = (
            "[MESSAGE]\nHello\nuser\n[/MESSAGE]\n[DONE]\nAll good.\n[/DONE]\n" + RUN.format("touch late") + "[DONE]\n"
        )
        results = await bench.answered(session, first, RUN.format("touch later"))
        assert session.state.is_complete
    assert told(results) == [
        ("MESSAGE", True, "Shown to the user"),
        ("DONE", True, "Shown to the user"),
        ("ANSWER", False, "2 more commands after DONE were not executed"),
        ("ANSWER", False, "it arrived after DONE and was not executed"),
    ]
    assert [said.text for said in bench.of(ModelMessage)] == ["Hello\nuser"]
    assert [end.summary for end in bench.of(SessionCompleted)] == ["All good."]
    assert sessions(bench.places)[0].last_results[1].output == "All good."
    assert len(bench.of(OutboxWritten)) == 1
    assert names_in(bench.root) == []
    assert [state.is_complete for state in sessions(bench.places)] == [True]


@pytest.mark.rule("I13")
async def test_answers_are_kept_as_they_were_under_names_of_their_own(bench: Bench) -> None:
    name = "n" * 251 + ".txt"
    async with bench.begin() as session:
        id_ = session.state.session_id
        paths = [bench.put("[MESSAGE]\r\none\r\n[/MESSAGE]", "answer.txt"), bench.put("prose", name)]
        odd = os.fsdecode(b"caf\xe9.txt")
        paths.append(bench.put("more", odd))
        assert await session.execute(paths)
        await bench.answered(session, "[MESSAGE]\none\n[/MESSAGE]")
    kept = {entry: (bench.places.processed / entry).read_bytes() for entry in names_in(bench.places.processed)}
    assert kept == {
        f"{id_}_seq0001_01_answer.txt": b"[MESSAGE]\r\none\r\n[/MESSAGE]",
        f"{id_}_seq0001_02_" + name[-(255 - 20) :]: b"prose",
        f"{id_}_seq0001_03_{odd}": b"more",
        f"{id_}_seq0002_01_0.txt": b"[MESSAGE]\none\n[/MESSAGE]",
    }
    assert len(bench.of(AnswerAccepted)) == 4


@pytest.mark.rule("I13")
async def test_the_same_answer_twice_in_a_round_is_one_answer(bench: Bench) -> None:
    answer = RUN.format("echo x >> ledger")
    async with bench.begin() as session:
        results = await bench.answered(session, answer, answer)
        assert [result.success for result in results] == [True, False]
        assert results[1].summary.startswith("it is the same as another answer of this round")
        await bench.answered(session, answer)
    assert bench.content("ledger") == "x\nx\n"


@pytest.mark.rule("I13")
async def test_an_answer_that_was_taken_away_again_is_none(bench: Bench) -> None:
    async with bench.begin() as session:
        gone = bench.put("x", "gone.txt")
        gone.unlink()
        results = [gone, bench.put("[MESSAGE]\nhi\n[/MESSAGE]", "there.txt")]
        assert await session.execute(results)
        assert [result.command for result in session.state.last_results] == ["MESSAGE"]


@pytest.mark.rule("I14")
async def test_an_outbox_that_is_missing_is_written_again(bench: Bench) -> None:
    async with bench.begin() as session:
        await bench.answered(session, CREATE.format("a", "x"))
        path, text = session.outbox, session.outbox.read_bytes()
    path.unlink()
    async with bench.resume() as session:
        await session.write_outbox()
        assert session.outbox.read_bytes() == text


@pytest.mark.rule("I14")
async def test_who_is_stopped_goes_on_where_it_was(bench: Bench) -> None:
    async with bench.begin() as session:
        session.stop()
        assert not await session.execute([bench.put(CREATE.format("a", "x"))])
        assert bench.of(CommandFinished) == []
    async with bench.resume() as session:
        assert await session.has_accepted()
        assert await session.execute([])
        assert told(list(session.state.last_results)) == [("CREATE_FILE", True, "Created 'a'")]


@pytest.mark.rule("I15")
async def test_one_session_at_a_time(bench: Bench) -> None:
    async with bench.begin() as session:
        id_ = session.state.session_id
    with pytest.raises(MailboxError, match=f"^session {id_} is not complete"):
        async with bench.begin():
            pass
    assert end_session(bench.places, None).is_complete
    with pytest.raises(MailboxError, match=r"^all of its sessions are complete"):
        end_session(bench.places, None)
    async with bench.begin() as session:
        assert session.state.session_id != id_
    with pytest.raises(MailboxError, match=r"^it has no session with this id"):
        end_session(bench.places, "../../x")


@pytest.mark.rule("I15")
async def test_a_session_begins_with_an_empty_inbox(bench: Bench) -> None:
    bench.places.make()
    bench.put("[MESSAGE]\nold\n[/MESSAGE]")
    with pytest.raises(MailboxError, match=r"^its inbox has files, which would be answers to this session"):
        async with bench.begin():
            pass
    assert sessions(bench.places) == []


@pytest.mark.rule("I12")
@pytest.mark.parametrize("where", ["", "mailbox", "a/b/mailbox", "link/mailbox"])
async def test_a_mailbox_in_its_workspace_is_refused(bench: Bench, where: str) -> None:
    (bench.root / "link").symlink_to(bench.root)
    bench.places = type(bench.places)(bench.root / where)
    with pytest.raises(MailboxError, match=r"^it is in the workspace"):
        async with bench.begin():
            pass
    assert names_in(bench.root) == ["link"]


@pytest.mark.rule("I15")
async def test_a_session_goes_on_in_its_own_workspace_only(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(bench.root)
    async with bench.begin() as session:
        id_ = session.state.session_id
    with open_session(
        bench.places, None, bench.observe, workspace=tmp_path / "link", agents=known_places(), sandbox=None
    ) as again:
        assert again.state.session_id == id_
    with pytest.raises(MailboxError, match=f"^session {id_} belongs to another workspace"):
        with open_session(bench.places, None, bench.observe, workspace=tmp_path, agents=known_places(), sandbox=None):
            pass


@pytest.mark.rule("I12")
@pytest.mark.parametrize("text", ["", "{}", "[]", '{"sessionId": 1}', "\x00"])
async def test_a_damaged_session_is_named(bench: Bench, text: str) -> None:
    async with bench.begin() as session:
        id_ = session.state.session_id
    bench.places.session_file(id_).write_text(text)
    with pytest.raises(MailboxError, match=f"^sessions/{id_}.json is damaged or not the state of a session"):
        sessions(bench.places)


@pytest.mark.rule("I15")
async def test_a_session_cannot_begin_where_somebody_is_at_work(bench: Bench) -> None:
    async with bench.begin() as session:
        id_ = session.state.session_id
        with pytest.raises(MailboxError, match=f"^session {id_} uses it"):
            with begin_session(bench.places, bench.root, "another", bench.observe, agents=known_places(), sandbox=None):
                pass


@pytest.mark.rule("I14")
@pytest.mark.fault("workspace", "The disk of a mailbox is slow", "The event loop continues")
async def test_a_slow_disk_does_not_hold_up_the_event_loop(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    turned, fsync, waited = threading.Event(), os.fsync, list[bool]()

    def slow(fd: int) -> None:
        waited.append(turned.wait(10))
        fsync(fd)

    async with bench.begin() as session:
        answer = bench.put('[CREATE_FILE path="a"]\nx\n[/CREATE_FILE]\n')
        monkeypatch.setattr(os, "fsync", slow)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.execute, [answer])
            await trio.testing.wait_all_tasks_blocked()
            turned.set()
    assert waited
    assert all(waited)
    assert bench.content("a") == "x\n"
