"""Test that a killed session executes each command once, even with damaged files."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from codex_adapter.agents import known_places
from codex_adapter.protocols.mailbox.events import CommandFinished, SessionCompleted
from codex_adapter.protocols.mailbox.inbox import Inbox
from codex_adapter.protocols.mailbox.layout import MailboxError
from codex_adapter.protocols.mailbox.messages import CommandResult
from codex_adapter.protocols.mailbox.opening import begin_session, end_session, open_session

from ...cli.command import Cli
from ...waiting import SOON
from .bench import Bench, names_in
from .kills_mortal import CREATE, DONE, EDIT, RUN, UNKNOWN, Mortal, ran

pytestmark = pytest.mark.rule("I14")


@pytest.fixture
def bench(tmp_path: Path) -> Mortal:
    return Mortal(tmp_path)


@pytest.mark.parametrize("cut", [1, 30, -1], ids=["one byte", "a part", "all but its newline"])
@pytest.mark.fault(
    "workspace",
    "The last line of a mailbox's journal is torn",
    "The mailbox determines the result of that step again, or reports it as unknown",
)
async def test_a_torn_line_is_as_if_it_were_not_there(bench: Mortal, cut: int) -> None:
    answer = CREATE.format("a", "one") + RUN.format("x") + RUN.format("y")
    await bench.die(3, answer)
    whole = bench.journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    bench.journal.write_bytes(b"".join(lines[:-1]) + lines[-1][:cut])
    assert await bench.go_on() == [
        ("CREATE_FILE", True, "Created 'a'"),
        ("RUN_COMMAND", False, f"'echo x >> ledger' {UNKNOWN}"),
        ran("y"),
    ]
    assert bench.content("ledger") == "x\ny\n"
    assert bench.journal.read_bytes().startswith(b"".join(lines[:-1]))


@pytest.mark.parametrize("lines", range(6))
async def test_where_its_journal_ends_it_goes_on(bench: Mortal, lines: int) -> None:
    await bench.die(3, CREATE.format("a", "one") + RUN.format("x"))
    whole = bench.journal.read_bytes().splitlines(keepends=True)
    assert len(whole) == 5
    bench.journal.write_bytes(b"".join(whole[:lines]) + b"{")
    if lines < 3:
        (bench.root / "a").unlink()
    if lines < 4:
        (bench.root / "ledger").unlink()
    came = ("RUN_COMMAND", False, f"'echo x >> ledger' {UNKNOWN}") if lines == 4 else ran("x")
    assert await bench.go_on() == [("CREATE_FILE", True, "Created 'a'"), came]
    assert (bench.content("a"), bench.content("ledger")) == ("one\n", "x\n")


@pytest.mark.parametrize("kind", ["damaged", "a directory"])
@pytest.mark.fault(
    "workspace",
    "A mailbox's journal is damaged or unreadable",
    "No command runs until a person restores the journal; then the session continues",
)
async def test_nothing_is_carried_out_beside_a_damaged_journal(bench: Mortal, kind: str) -> None:
    await bench.die(2, CREATE.format("a", "one") + RUN.format("x"))
    whole = bench.journal.read_bytes()
    path = bench.journal
    path.unlink()
    if kind == "damaged":
        path.write_bytes(b"\0" * 10 + whole)
    else:
        path.mkdir()
    with pytest.raises(MailboxError, match=r"^the journal of the round "):
        await bench.go_on()
    assert names_in(bench.root) == ["a"]
    if path.is_dir():
        path.rmdir()
    path.write_bytes(whole)
    assert await bench.go_on() == [("CREATE_FILE", True, "Created 'a'"), ran("x")]


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """For as long as this lasts, the system writes so many bytes of a file and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", range(0, 1400, 110))
@pytest.mark.fault(
    "resources",
    "The disk fills up while the mailbox writes its journal, state or outbox",
    "It stops; a later start resumes the session and repeats nothing",
)
async def test_what_cannot_be_written_down_is_not_carried_out(bench: Mortal, size: int) -> None:
    answer = CREATE.format("a", "1") + RUN.format("x") + EDIT.format("a", "2") + RUN.format("y")
    async with bench.begin() as session:
        arrived = [bench.put(answer)]
        with pytest.raises(MailboxError, match=r"cannot be written to \(File too large\)"), no_file_longer_than(size):
            await session.execute(arrived)
        before = b"".join(path.read_bytes() for path in bench.places.root.glob("rounds/*.jsonl"))
    begun = before[: before.rfind(b"\n") + 1].count(b'"Begun"')
    done = ["a" in names_in(bench.root), *(mark in bench.ledger for mark in "xy")]
    assert [number for number, is_done in zip((1, 2, 4), done, strict=True) if is_done and number > begun] == []
    async with bench.resume() as session:
        if session.state.sequence_number == 1:
            assert await session.execute([])
        await session.write_outbox()
        assert [result.command for result in session.state.last_results] == [
            *("CREATE_FILE", "RUN_COMMAND", "EDIT_FILE", "RUN_COMMAND")
        ]
        assert [result.success for result in session.state.last_results][::2] == [True, True]
        _check_ledger(bench, session.state.last_results[1::2])
    assert bench.content("a") == "2\n"
    assert len(names_in(bench.places.outbox)) == 2


def _check_ledger(bench: Mortal, results: tuple[CommandResult, ...]) -> None:
    for mark, result in zip("xy", results, strict=True):
        assert result.success or result.summary.endswith(UNKNOWN)
        assert bench.ledger.count(mark) in ((1,) if result.success else (0, 1))


@pytest.mark.parametrize("moments", range(1, 6))
async def test_the_same_answer_twice_stays_one_answer_whoever_dies(bench: Mortal, moments: int) -> None:
    answer = RUN.format("x") + RUN.format("y")
    await bench.die(moments, answer, answer)
    *first, (command, success, summary) = await bench.go_on()
    assert first == [ran("x"), ran("y")]
    assert (command, success) == ("ANSWER", False)
    assert summary.startswith("it is the same as another answer of this round")
    assert bench.ledger == ["x", "y"]


@pytest.mark.rule("I11")
@pytest.mark.parametrize("moments", range(1, 7))
async def test_what_stands_behind_the_end_is_not_carried_out_whoever_dies(bench: Mortal, moments: int) -> None:
    await bench.die(moments, RUN.format("x") + DONE + RUN.format("y"), RUN.format("z"))
    assert [result[:2] for result in await bench.go_on()] == [
        ("RUN_COMMAND", True),
        ("DONE", True),
        ("ANSWER", False),
        ("ANSWER", False),
    ]
    assert bench.ledger == ["x"]
    assert [end.summary for end in bench.of(SessionCompleted)] == ["All."]
    assert len(names_in(bench.places.outbox)) == 1


async def test_results_that_were_told_are_told_again_as_they_were(bench: Mortal) -> None:
    await bench.die(3, CREATE.format("a", "one") + RUN.format("x"))
    first = [it.result for it in bench.of(CommandFinished)]
    bench.told.clear()
    await bench.go_on()
    assert [it.result for it in bench.of(CommandFinished)] == first
    assert [it.before for it in bench.of(CommandFinished)] == [True, True]


@pytest.mark.parametrize("command", [CREATE.format("a", "new"), EDIT.format("a", "new"), '[DELETE_FILE path="a"]\n'])
async def test_a_file_that_somebody_else_changed_meanwhile_is_left_as_it_is(bench: Mortal, command: str) -> None:
    bench.write("a", "old\n")
    await bench.die(2, command)
    lines = bench.journal.read_bytes().splitlines(keepends=True)
    bench.journal.write_bytes(b"".join(lines[:-1]))
    bench.write("a", "of somebody else\n")
    ((_, success, summary),) = await bench.go_on()
    assert (success, bench.content("a")) == (False, "of somebody else\n")
    assert "It has neither its old nor its new content" in summary


@pytest.mark.rule("I12")
async def test_temporary_files_of_somebody_who_was_killed_are_in_nobodys_way(bench: Mortal) -> None:
    await bench.die(2, RUN.format("x"))
    id_ = bench.journal.name[:8]
    for name in (f"outbox/{id_}_seq0002.txt.tmp", f"sessions/{id_}.json.tmp", "sessions/01234567.json.tmp"):
        (bench.places.root / name).write_bytes(b"torn")
    (bench.places.inbox / "answer.txt.tmp").write_text(RUN.format("y"))
    (bench.places.inbox / ".codex-adapter-0").touch()
    assert Inbox(bench.places.inbox).scan().complete == ()
    assert names_in(bench.places.inbox) == ["answer.txt.tmp"]
    assert await bench.go_on() == [ran("x")]
    assert names_in(bench.places.outbox) == [f"{id_}_seq0001.txt", f"{id_}_seq0002.txt"]
    assert names_in(bench.places.root / "sessions") == sorted(["01234567.json.tmp", f"{id_}.json"])


@pytest.mark.rule("I15")
@pytest.mark.fault(
    "workspace",
    "A second process opens a mailbox",
    "It is refused with the session's id until the first process ends, even by SIGKILL",
)
def test_while_somebody_is_at_work_others_are_refused(bench: Mortal, tmp_path: Path) -> None:
    trio.run(_begin, bench)
    bench.put(f"[RUN_COMMAND]\necho > {tmp_path}/started; cat {tmp_path}/never\n[/RUN_COMMAND]\n")
    for name in ("started", "never"):
        os.mkfifo(tmp_path / name)
    words = ("mailbox", "once", "--mailbox", str(bench.places.root), "--no-sandbox", "--format", "jsonl")
    with Cli(tmp_path).start(*words) as process:
        assert (tmp_path / "started").read_text() == "\n"
        (session,) = (path.stem for path in bench.places.root.glob("sessions/*.json"))
        refused = rf"^session {session} uses it \(process {process.pid}\)"
        with pytest.raises(MailboxError, match=refused):
            with open_session(bench.places, None, bench.observe, agents=known_places(), sandbox=None):
                pass
        with pytest.raises(MailboxError, match=refused):
            with begin_session(bench.places, bench.root, "another", bench.observe, agents=known_places(), sandbox=None):
                pass
        with pytest.raises(MailboxError, match=refused):
            end_session(bench.places, None)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=SOON)
    ((command, success, summary),) = trio.run(bench.go_on)
    assert (command, success) == ("RUN_COMMAND", False)
    assert summary.endswith(UNKNOWN)


async def _begin(bench: Bench) -> None:
    async with bench.begin():
        pass
