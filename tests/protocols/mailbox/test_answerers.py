"""Test the programs that answer an outbox: a command of the user and runs of an agent."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from codex_adapter import BackendError, CodexConfig, Event, RunCancelled, RunRequest, open_run
from codex_adapter.agents.codex.agent import AGENT
from codex_adapter.prompting import OpenRun
from codex_adapter.protocols.mailbox.answerers import AgentAnswerer, AnswerFailed, CommandAnswerer
from codex_adapter.protocols.mailbox.layout import MailboxError
from codex_adapter.records import decode_record
from codex_adapter.testing import Exit, Hang, PrintJson, ReadPrompt, Step, WriteFacts, read_facts, write_agent
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

pytestmark = pytest.mark.rule("I17")

WS = "/nowhere"
"""The workspace of the session, which has no part in most tests."""


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    path = tmp_path / "out 'box" / "a1b2c3d4_seq0001.txt"
    path.parent.mkdir()
    path.write_text("=== HEADER ===\nTask: caf\u00e9\n")
    return path


async def command(text: str, outbox: Path, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - its own
    """What a command answers."""
    return await CommandAnswerer(text, timeout=timeout).answer(outbox, outbox.parent / "journal", WS)


async def test_a_command_reads_the_outbox_and_writes_the_answer(
    outbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_KEY", "a b\n'c'")
    assert await command('cat; pwd; printf %s "$MY_KEY" # the end', outbox) == (
        outbox.read_bytes() + f"{tmp_path}\na b\n'c'".encode()
    )
    assert not (outbox.parent / "journal").exists()


async def test_a_command_has_all_of_the_environment_that_can_be_passed_on(
    outbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPTIND", "abc")
    monkeypatch.setenv("HUGE", "x" * 131_000)
    monkeypatch.setenv("ODD", os.fsdecode(b"caf\xe9"))
    monkeypatch.setenv("FINE", "y")
    assert await command('printf %s "$FINE${HUGE:-no}${ODD:-no}"', outbox) == b"ynono"


async def test_a_command_that_fails_says_its_last_words(outbox: Path) -> None:
    with pytest.raises(AnswerFailed, match=r"^the answering command ended with 3: no model$"):
        await command("echo no model >&2; echo half; exit 3", outbox)
    with pytest.raises(AnswerFailed, match=r"^the answering command ended with 137$"):
        await command("kill -9 $$", outbox)


async def test_a_command_has_as_long_as_was_said(outbox: Path) -> None:
    with pytest.raises(AnswerFailed, match="took too long"):
        await command("sleep 1000 & sleep 1000", outbox, timeout=0.2)


@pytest.mark.parametrize("end", [CommandAnswerer.cancel, CommandAnswerer.kill])
async def test_a_command_can_be_ended(outbox: Path, end: Callable[[CommandAnswerer], None]) -> None:
    answers = CommandAnswerer(f"echo > {shlex.quote(str(outbox.parent))}/started; sleep 1000")
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:

            async def ended() -> None:
                with pytest.raises(AnswerFailed, match="was killed"):
                    await answers.answer(outbox, outbox, WS)
                nursery.cancel_scope.cancel()

            nursery.start_soon(ended)
            while not (outbox.parent / "started").exists():
                await trio.testing.wait_all_tasks_blocked(0.05)
            end(answers)


def saying(*texts: str) -> list[Step]:
    """An agent whose turn goes well and has these messages."""
    said = [PrintJson(agent_message(f"item_{number}", text)) for number, text in enumerate(texts)]
    return [ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()), *said, PrintJson(turn_completed())]


@pytest.fixture
def opened_by(tmp_path: Path) -> Callable[..., OpenRun]:
    """What opens runs of a scripted agent."""

    def made(*steps: Step) -> OpenRun:
        binary = write_agent(tmp_path / "agent", [WriteFacts(str(tmp_path / "facts")), *steps])
        return lambda request: open_run(request, config=CodexConfig(binary=str(binary)))

    return made


async def test_an_agent_gets_the_outbox_and_may_change_nothing(
    outbox: Path, tmp_path: Path, opened_by: Callable[..., OpenRun]
) -> None:
    answers = AgentAnswerer(AGENT, opened_by(*saying("thinking", "[DONE]\n[/DONE]")), RunRequest(prompt="", timeout=60))
    assert await answers.answer(outbox, tmp_path / "journal", WS) == b"[DONE]\n[/DONE]"
    facts = read_facts(tmp_path / "facts")
    assert facts.cwd.startswith(f"{tempfile.gettempdir()}/codex-adapter-")
    assert not Path(facts.cwd).exists()
    assert "features.shell_tool=false" in facts.argv
    assert facts.argv[facts.argv.index("--sandbox") + 1] == "read-only"
    records = [decode_record(line) for line in (tmp_path / "journal").read_bytes().splitlines()]
    assert [record.seq for record in records] == list(range(len(records)))


async def test_a_long_answer_is_whole(outbox: Path, tmp_path: Path, opened_by: Callable[..., OpenRun]) -> None:
    text = "x" * 300_000 + "\u00e9"
    answers = AgentAnswerer(AGENT, opened_by(*saying(text)), RunRequest(prompt=""))
    assert await answers.answer(outbox, tmp_path / "journal", WS) == text.encode()


@pytest.mark.parametrize(
    "steps",
    [[ReadPrompt(), Exit(3)], saying(), [*saying("x"), Exit(1)], [*saying("half")[:-1]]],
    ids=["nothing", "no message", "failed", "cut off"],
)
async def test_a_run_that_does_not_go_well_is_no_answer(
    outbox: Path, tmp_path: Path, opened_by: Callable[..., OpenRun], steps: list[Step]
) -> None:
    with pytest.raises(AnswerFailed, match="ended without an answer") as failure:
        await AgentAnswerer(AGENT, opened_by(*steps), RunRequest(prompt="")).answer(outbox, tmp_path / "journal", WS)
    assert failure.value.outcome is not None
    assert not isinstance(decode_record((tmp_path / "journal").read_bytes().splitlines()[-1]), Event)


async def test_a_run_that_cannot_begin_is_no_answer(outbox: Path, tmp_path: Path) -> None:
    def opening(request: RunRequest) -> object:
        return open_run(request, config=CodexConfig(binary=str(tmp_path / "nothing")))

    with pytest.raises(AnswerFailed) as failure:
        await AgentAnswerer(AGENT, opening, RunRequest(prompt="")).answer(outbox, tmp_path / "journal", WS)  # type: ignore[arg-type]
    assert isinstance(failure.value.outcome, BackendError)


async def test_the_records_of_a_second_run_stand_behind_those_of_the_first(
    outbox: Path, tmp_path: Path, opened_by: Callable[..., OpenRun]
) -> None:
    answers = AgentAnswerer(AGENT, opened_by(*saying("one")), RunRequest(prompt=""))
    await answers.answer(outbox, tmp_path / "journal", WS)
    first = (tmp_path / "journal").read_bytes()
    with (tmp_path / "journal").open("ab") as torn:
        torn.write(b'{"type":"event","se')
    await answers.answer(outbox, tmp_path / "journal", WS)
    second = (tmp_path / "journal").read_bytes().removeprefix(first)
    assert [decode_record(line).seq for line in second.splitlines()][:2] == [0, 1]


async def test_a_journal_that_cannot_be_written_ends_the_run(
    outbox: Path, tmp_path: Path, opened_by: Callable[..., OpenRun]
) -> None:
    with pytest.raises(MailboxError, match=r"^journal/ cannot be written to"):
        await AgentAnswerer(AGENT, opened_by(*saying("one")), RunRequest(prompt="")).answer(outbox, tmp_path, WS)


async def test_an_agent_can_be_cancelled(outbox: Path, tmp_path: Path, opened_by: Callable[..., OpenRun]) -> None:
    opening = opened_by(ReadPrompt(), Hang())
    answers = AgentAnswerer(AGENT, opening, RunRequest(prompt=""))
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:

            async def ended() -> None:
                with pytest.raises(AnswerFailed) as failure:
                    await answers.answer(outbox, tmp_path / "journal", WS)
                assert isinstance(failure.value.outcome, RunCancelled)
                nursery.cancel_scope.cancel()

            nursery.start_soon(ended)
            while not (tmp_path / "facts").exists():
                await trio.testing.wait_all_tasks_blocked(0.05)
            answers.cancel()
            await trio.sleep_forever()
