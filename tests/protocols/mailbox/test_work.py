"""Test the work in a session from its first outbox to its end: waiting, answering, stopping."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Final

import pytest
import trio
import trio.testing

from codex_adapter.protocols.mailbox.answerers import AnswerFailed
from codex_adapter.protocols.mailbox.events import CommandFinished, Notice, OutboxWritten, Waiting
from codex_adapter.protocols.mailbox.inbox import Inbox, InboxState
from codex_adapter.protocols.mailbox.work import MailboxWorker

from .bench import Bench

DONE = "[DONE]\nfine\n[/DONE]\n"
RUN = "[RUN_COMMAND]\n{}\n[/RUN_COMMAND]\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class Scripted:
    """Answers with one text after another."""

    kind: Final = "command"

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.ended: list[str] = []
        self.waiting = trio.Event()

    async def answer(self, outbox: Path, journal: Path, workspace: str) -> bytes:
        self.asked.append(outbox.read_text())
        assert journal.parent.is_dir()
        if not self.answers:
            self.waiting.set()
            await trio.sleep_forever()
        if self.answers[0] == "fail":
            raise AnswerFailed("no model is there")
        return self.answers.pop(0).encode()

    def cancel(self) -> None:
        self.ended.append("cancel")

    def kill(self) -> None:
        self.ended.append("kill")


@asynccontextmanager
async def working(bench: Bench, answerer: Scripted | None = None) -> AsyncIterator[MailboxWorker]:
    """A new session's work."""
    async with bench.begin() as session:
        bench.told.clear()
        yield MailboxWorker(bench.places, session, bench.observe, answerer)


@asynccontextmanager
async def beside(work: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Work that goes on beside the body, and comes to its end after it."""
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            yield


@pytest.mark.rule("I11", "I16")
async def test_answers_are_waited_for_until_the_task_is_done(bench: Bench) -> None:
    async with working(bench) as work:

        async def to_the_end() -> None:
            assert await work.run() == "complete"

        async with beside(to_the_end):
            while not bench.of(Waiting):
                await trio.testing.wait_all_tasks_blocked()
            bench.put("[MESSAGE]\nfirst\n[/MESSAGE]")
            while len(bench.of(Waiting)) < 2:
                await trio.testing.wait_all_tasks_blocked(0.01)
            bench.put(DONE)
    assert [type(it).__name__ for it in bench.told] == [
        *("OutboxWritten", "Waiting", "AnswerAccepted", "CommandFinished", "ModelMessage"),
        *("OutboxWritten", "Waiting", "AnswerAccepted", "CommandFinished", "SessionCompleted"),
    ]


@pytest.mark.rule("I13", "I16")
async def test_half_of_an_answer_is_waited_for_and_told_of_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    scan, looked, looks = Inbox.scan, trio.Event(), count(1)

    def counted(inbox: Inbox) -> InboxState:
        if next(looks) == 3:
            trio.from_thread.run_sync(looked.set)
        return scan(inbox)

    monkeypatch.setattr(Inbox, "scan", counted)
    async with working(bench) as work:
        held = bench.put(DONE).open("a")

        async def to_the_end() -> None:
            assert await work.run() == "complete"

        async with beside(to_the_end):
            await looked.wait()
            assert not bench.of(CommandFinished)
            held.close()
    assert [remark.text for remark in bench.of(Notice)] == [
        "answer.txt is still open for writing in another program. Close it there"
    ]


@pytest.mark.rule("I16")
@pytest.mark.parametrize(
    ("answers", "end"), [([], "nothing"), (["[MESSAGE]\nx\n[/MESSAGE]"], "carried_out"), ([DONE], "complete")]
)
async def test_once_is_one_round_or_none(bench: Bench, answers: list[str], end: str) -> None:
    async with working(bench) as work:
        for answer in answers:
            bench.put(answer)
        assert await work.run(once=True) == end
        assert not bench.of(Waiting)


@pytest.mark.rule("I17")
async def test_whoever_of_ours_answers_is_asked_with_each_outbox(bench: Bench) -> None:
    scripted = Scripted(RUN.format("echo made > file"), '[READ_FILE path="file"]', DONE)
    async with working(bench, scripted) as work:
        assert await work.run() == "complete"
    assert ["\n## Previous Command Results\n" in text for text in scripted.asked] == [False, True, True]
    assert "--- file ---\nmade\n--- end file ---" in scripted.asked[2]
    assert len(bench.of(OutboxWritten)) == 3


@pytest.mark.rule("I17")
async def test_nobody_is_asked_where_an_answer_lies_already(bench: Bench) -> None:
    scripted = Scripted()
    async with working(bench, scripted) as work:
        bench.put(DONE)
        assert await work.run() == "complete"
    assert scripted.asked == []


@pytest.mark.rule("I17")
async def test_one_round_may_be_answered_by_ours(bench: Bench) -> None:
    scripted = Scripted("[MESSAGE]\nx\n[/MESSAGE]", DONE)
    async with working(bench, scripted) as work:
        assert await work.run(once=True) == "carried_out"
    assert len(scripted.asked) == 1


@pytest.mark.rule("I17")
@pytest.mark.fault("mailbox", "The answers never contain a command", "The mailbox stops after three answers in a row")
async def test_whoever_never_gives_a_command_is_not_asked_for_ever(bench: Bench) -> None:
    scripted = Scripted("no", "I cannot", "[RUN_COMMAND]\ntrue\n[/RUN_COMMAND]", *["sorry"] * 9)
    async with working(bench, scripted) as work:
        with pytest.raises(AnswerFailed, match=r"^3 answers in a row had no valid command"):
            await work.run()
    assert len(scripted.asked) == 6


@pytest.mark.rule("I17")
async def test_where_there_is_no_answer_the_session_can_go_on_later(bench: Bench) -> None:
    async with working(bench, Scripted("fail")) as work:
        with pytest.raises(AnswerFailed, match="no model"):
            await work.run()
    async with bench.resume() as session:
        assert await MailboxWorker(bench.places, session, bench.observe, Scripted(DONE)).run() == "complete"
        assert await MailboxWorker(bench.places, session, bench.observe, Scripted()).run() == "complete"


@pytest.mark.rule("I14", "I16")
@pytest.mark.parametrize("end", [MailboxWorker.cancel, MailboxWorker.kill])
async def test_who_waits_can_be_stopped(bench: Bench, end: Callable[[MailboxWorker], None]) -> None:
    async with working(bench) as work:

        async def to_the_end() -> None:
            assert await work.run() == "stopped"

        async with beside(to_the_end):
            while not bench.of(Waiting):
                await trio.testing.wait_all_tasks_blocked()
            end(work)


@pytest.mark.rule("I14")
async def test_a_command_under_way_is_killed_and_told_and_nothing_more_is_begun(bench: Bench) -> None:
    async with working(bench) as work:
        bench.put(RUN.format("echo > started; sleep 1000") + RUN.format("echo > second"))

        async def to_the_end() -> None:
            assert await work.run() == "stopped"

        async with beside(to_the_end):
            while not (bench.root / "started").exists():
                await trio.testing.wait_all_tasks_blocked(0.01)
            work.cancel()
    assert [told.result.summary for told in bench.of(CommandFinished)] == [
        "'echo > started; sleep 1000' was killed, because the adapter received a stop signal"
    ]
    async with bench.resume() as session:
        assert await MailboxWorker(bench.places, session, bench.observe).run(once=True) == "carried_out"
        assert [result.success for result in session.state.last_results] == [False, True]
    assert (bench.root / "second").exists()


@pytest.mark.rule("I17")
@pytest.mark.parametrize("end", ["cancel", "kill"])
async def test_whoever_answers_is_ended_with_us(bench: Bench, end: str) -> None:
    scripted = Scripted()
    async with working(bench, scripted) as work:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(work.run)
                await scripted.waiting.wait()
                getattr(work, end)()
                nursery.cancel_scope.cancel()
    assert scripted.ended == [end]
