"""Test the agent interface with an agent of another distribution that differs in every allowed way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_adapter import (
    AgentBackend,
    BackendError,
    Completion,
    Event,
    Gateway,
    RunCancelled,
    RunConfig,
    RunRequest,
    RunTimedOut,
    SpawnError,
    UnknownBackendError,
    UnsupportedCapabilityError,
    codex_pipeline,
    collect,
    open_replay,
    open_run,
    sync,
)
from codex_adapter.agent import Agent, Launch
from codex_adapter.agents import agent_of, kinds
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.events import TOOL_KINDS, ToolCall
from codex_adapter.hints import ADVICE
from codex_adapter.runtime.run import Run

from ..waiting import until

TOY = Path(__file__).parents[1] / "toy"
ALLOW = "backend.toy.allow"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the toy's distribution on the path, as if it were installed."""
    monkeypatch.syspath_prepend(str(TOY))


async def events_of(prompt: str, **fields: Any) -> tuple[list[Event], Completion]:
    async with open_run(RunRequest(prompt=prompt, **fields), agent="toy") as run:
        events = [event async for event in run.events]
        return events, await run.wait_completed()


def texts(events: list[Event]) -> list[str]:
    return [event.text for event in events if event.text is not None]


@pytest.mark.rule("AG5")
def test_an_agent_of_another_distribution_is_found_by_its_kind() -> None:
    assert kinds() == ["claude_code", "codex", "pi", "toy"]
    assert agent_of("toy").kind == "toy"
    assert agent_of("codex").kind == "codex"
    with pytest.raises(UnknownBackendError, match="installed kinds are claude_code, codex, pi, toy"):
        agent_of("other")


@pytest.mark.rule("AG1", "AG5")
async def test_a_run_of_it_is_a_run_like_any_other() -> None:
    events, completion = await events_of("hello")
    assert [event.seq for event in events] == list(range(len(events)))
    assert {event.agent_kind for event in events} == {"toy"}
    assert texts(events) == ["You said: hello"]
    assert (completion.ok, completion.final_text, completion.session_id) == (True, "You said: hello", "toy-1")
    assert completion.run_usage == {"tokens": 7}


@pytest.mark.rule("AG6")
def test_the_kinds_of_tools_are_one_closed_list() -> None:
    index = Path(__file__).parents[2] / "fixtures" / "codex"
    seen = {
        event.data.tool.kind
        for recording in index.rglob("*.jsonl")
        if recording.suffixes == [".jsonl"] and recording.name != "index.jsonl"
        for event in codex_pipeline().receive_data(recording.read_bytes())
        if isinstance(event.data, ToolCall)
    }
    assert {"command_execution", "file_change", "mcp_tool_call"} <= seen <= set(TOOL_KINDS)


@pytest.mark.rule("AG5", "P7")
def test_it_runs_without_an_event_loop() -> None:
    with sync.open_run("hello", agent="toy", config=RunConfig()) as run:
        assert [event.text for event in run if event.text is not None] == ["You said: hello"]
    assert sync.run("hello", agent="toy").final_text == "You said: hello"


@pytest.mark.rule("AG3")
@pytest.mark.parametrize(("extensions", "said"), [({ALLOW: True}, "It is made."), ({}, "I may not.")])
async def test_a_question_on_stdout_is_answered_on_stdin(extensions: dict[str, Any], said: str) -> None:
    with trio.fail_after(60):
        events, completion = await events_of("ask me", extensions=extensions)
    assert texts(events) == [said]
    assert completion.ok
    assert [event.kind for event in events].count("tool_call") == bool(extensions)


@pytest.mark.rule("AG4", "F11")
async def test_a_failed_turn_with_exit_status_0_is_a_failure() -> None:
    events, completion = await events_of("fail now")
    assert events[-1].message == "toy exited non-zero: exit status: 0 (stderr redacted)"
    assert (completion.status.code, completion.turn, completion.ok) == (0, "failed", False)
    assert completion.final_text is None


@pytest.mark.rule("AG4", "F9")
async def test_the_cause_that_it_names_on_stderr_is_the_hint() -> None:
    _, completion = await events_of("complain")
    assert (completion.hint, completion.ok) == ("quota_exceeded", False)
    assert completion.advice == "Insert a coin."


@pytest.mark.rule("AG4", "F9")
async def test_an_error_has_its_own_advice_or_else_the_general_one() -> None:
    with pytest.raises(RunTimedOut) as late:
        await events_of("hang", timeout=0.1)
    assert (late.value.hint, late.value.advice) == ("time_limit", "Wind it up again.")
    with pytest.raises(SpawnError) as missing:
        await collect(RunRequest(prompt="hello"), agent="toy", config=RunConfig(binary="/nowhere"))
    assert (missing.value.hint, missing.value.advice) == ("cli_not_found", ADVICE["cli_not_found"])


@pytest.mark.rule("AG4", "F9")
def test_advice_that_an_error_was_created_with_is_kept() -> None:
    error = SpawnError(not_found=True, advice="Buy one.", hint="cli_not_found")
    assert error.of_agent("toy", {"cli_not_found": "Look below the bed."}).advice == "Buy one."


@pytest.mark.rule("AG2", "K4")
async def test_it_is_asked_to_end_by_the_signal_that_it_wants() -> None:
    """It ignores SIGINT and SIGTERM, and would only be killed after `stop_timeout`."""
    with trio.fail_after(60):
        async with open_run(RunRequest(prompt="hang"), agent="toy", config=RunConfig(stop_timeout=120)) as run:
            await anext(aiter(run.events))
            run.cancel()
            with pytest.raises(RunCancelled):
                await run.wait_completed()


@pytest.mark.rule("F15")
async def test_the_error_of_a_run_that_is_stopped_has_the_tokens_that_it_has_used() -> None:
    async with open_run(RunRequest(prompt="hang"), agent="toy") as run:
        async for event in run.events:
            if event.kind == "tool_call":
                run.cancel()
        with pytest.raises(RunCancelled) as cancelled:
            await run.wait_completed()
    assert (cancelled.value.run_usage, cancelled.value.cost_usd) == ({"tokens": 3}, None)


@pytest.mark.rule("AG3", "K4")
async def test_it_is_asked_to_end_on_standard_input_before_any_signal() -> None:
    """Each step has a third of `stop_timeout`, so a signal would come too late for this test."""
    with trio.fail_after(60):
        async with open_run(RunRequest(prompt="obey"), agent="toy", config=RunConfig(stop_timeout=120)) as run:
            async for event in run.events:
                if event.kind == "tool_call":
                    break
            run.cancel()
            with pytest.raises(RunCancelled):
                await run.wait_completed()
            assert str(cast(Run, run)._status) == "exit status: 3"


@pytest.mark.rule("AG3", "K4", "K6")
async def test_an_agent_whose_input_is_closed_gets_the_signal_at_once() -> None:
    config = RunConfig(stop_timeout=120, exit_grace=0.1)
    with trio.fail_after(60):
        completion = await collect(RunRequest(prompt="linger"), agent="toy", config=config)
    assert (completion.turn, completion.status.code) == ("completed", 4)


@pytest.mark.rule("AG3", "K4")
@pytest.mark.parametrize("prompt", ["deaf", "deaf" + "x" * 300_000])
async def test_an_agent_that_does_not_read_gets_the_signal_after_its_part_of_the_time(prompt: str) -> None:
    with trio.fail_after(60):
        async with open_run(RunRequest(prompt=prompt), agent="toy", config=RunConfig(stop_timeout=0.9)) as run:
            for _ in range(3):
                await run.events.receive()
            run.cancel()
            with pytest.raises(RunCancelled):
                await run.wait_completed()


@pytest.fixture
def clock() -> MockClock:
    """The clock of the test, which runs as any other and which the test can move forward."""
    return MockClock(rate=1.0)


@pytest.mark.rule("AG2", "K1", "K4")
@pytest.mark.parametrize("end", ["time limit", "cancel", "kill", "leave"])
async def test_nothing_of_it_survives_however_its_run_ends(end: str, tmp_path: Path, clock: MockClock) -> None:
    request = RunRequest(prompt="leave", timeout=600 if end == "time limit" else None, env={"TOY_MARK": str(tmp_path)})

    async def run_to_its_end() -> None:
        async with open_run(request, agent="toy", config=RunConfig(stop_timeout=0.5)) as run:
            await anext(aiter(run.events))
            until(lambda: len(carriers(str(tmp_path))) >= 2)
            if end == "leave":
                raise KeyError(end)
            if end == "time limit":
                await run.events.aclose()  # no limit passes while an event waits for its reader
                await wait_all_tasks_blocked()
                clock.jump(600)
            else:
                getattr(run, end)()
            await run.events.aclose()
            await run.wait_completed()

    with trio.fail_after(660), pytest.raises((BackendError, KeyError)) as caught:
        await run_to_its_end()
    assert carriers(str(tmp_path)) == []
    if end == "time limit":
        assert isinstance(caught.value, RunTimedOut)
        assert str(caught.value) == "toy backend error: timeout (details redacted when unsafe)"


@pytest.mark.rule("AG2", "X5")
async def test_its_secrets_are_masked() -> None:
    events, completion = await events_of("secret", env={"TOY_TOKEN": "correct-horse-battery"})
    assert texts(events) == ["The token is ***."]
    assert completion.final_text == "The token is ***."


@pytest.mark.rule("AG5", "G1", "G2")
async def test_a_gateway_holds_both_kinds() -> None:
    gateway = Gateway()
    for kind in kinds():
        gateway.register(AgentBackend(agent_of(kind)))
    async with gateway.open_run("toy", RunRequest(prompt="x")) as run:
        await run.events.aclose()
        assert (await run.wait_completed()).ok
    setup = await gateway.check("toy", RunRequest(prompt="x", env={"TOY_TOKEN": "correct-horse-battery"}))
    assert setup is not None
    assert setup.mask("say correct-horse-battery", 100) == "say ***"


@pytest.mark.rule("AG2", "Q2")
async def test_what_it_does_not_know_is_refused_in_its_name() -> None:
    with pytest.raises(UnsupportedCapabilityError) as caught:
        await collect(RunRequest(prompt="x", extensions={"backend.codex.images": []}), agent="toy")
    assert str(caught.value) == "agent kind 'toy' does not support 'backend.codex.images'"
    with pytest.raises(BackendError) as missing:
        await collect(RunRequest(prompt="x"), agent="toy", config=RunConfig(binary="/no/such/toy"))
    assert str(missing.value) == "toy backend error: spawn (details redacted when unsafe)"


@pytest.mark.rule("AG2", "Q5")
async def test_a_configuration_of_another_agent_is_refused() -> None:
    with pytest.raises(Exception, match="config must be a CodexConfig"):
        await collect(RunRequest(prompt="x"), agent="codex", config=RunConfig())


@pytest.mark.rule("AG3", "Y1")
async def test_a_recording_of_it_is_replayed(tmp_path: Path) -> None:
    recording = tmp_path / "toy.jsonl"
    lines = [{"session": "s"}, {"begin": 1}, {"ask": "run", "id": "q"}, {"say": "Hi."}, {"end": "good"}]
    recording.write_text("".join(json.dumps(line) + "\n" for line in lines) + "noise\n")
    async with open_replay(recording, agent="toy") as run:
        events = [event async for event in run.events]
        completion = await run.wait_completed()
    assert texts(events) == ["Hi."]
    assert events[-1].message == "toy stream parse error (redacted): not a line of the toy (line_bytes=5)"
    assert (completion.ok, completion.session_id) == (True, "s")


@pytest.mark.rule("AG3", "L5", "B2")
@given(st.lists(st.sampled_from([b'{"say":"a b"}\n', b'{"run":"x","id":"1"}\n', b"{\n", b'{"end":"bad"}\n', b"\xff"])))
def test_its_events_do_not_depend_on_the_reads(lines: list[bytes]) -> None:
    def events(size: int) -> list[Event]:
        pipeline, data = Pipeline(agent_of("toy").decoder, max_line_bytes=100), b"".join(lines)
        given = [pipeline.receive_data(data[start : start + size]) for start in range(0, len(data), size)]
        return [event for read in given for event in read] + pipeline.receive_eof()

    whole = events(10_000)
    assert [event.seq for event in whole] == list(range(len(whole)))
    assert events(1) == events(7) == whole


@pytest.mark.rule("B2", "AG3")
def test_a_long_text_of_it_comes_in_pieces() -> None:
    pipeline = Pipeline(agent_of("toy").decoder)
    events = pipeline.receive_data(json.dumps({"say": "é" * 100_000}).encode() + b"\n")
    assert len(events) == 4
    assert "".join(texts(events)) == "é" * 100_000


def carriers(mark: str) -> list[int]:
    """The processes that have the mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environ = (process / "environ").read_bytes()
        except OSError:
            continue
        if f"TOY_MARK={mark}".encode() in environ.split(b"\0"):
            found.append(int(process.name))
    return found


@pytest.mark.rule("AG2")
async def test_what_is_not_a_signal_is_refused_before_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = type(agent_of("toy")).prepare

    @asynccontextmanager
    async def wrong(self: Agent, *args: Any, **fields: Any) -> AsyncIterator[Launch]:
        async with prepare(self, *args, **fields) as launch:
            yield replace(launch, stop_signals=(("SIGUSR1",),))

    monkeypatch.setattr(type(agent_of("toy")), "prepare", wrong)
    with trio.fail_after(60), pytest.raises(BackendError) as raised:
        await collect(RunRequest(prompt="hang"), agent="toy")
    assert str(raised.value) == "toy backend error: other (details redacted when unsafe)"
    assert raised.value.advice == "The stop signals of the agent are not signals. Correct the agent."


@pytest.mark.rule("AG3", "K4")
@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
async def test_a_decoder_that_raises_ends_its_own_run_alone(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def decode(*_: object) -> None:
        raise error("correct-horse-battery")

    monkeypatch.setattr(type(agent_of("toy").decoder(Masker())), "decode", decode)
    with trio.fail_after(60):
        async with open_run(RunRequest(prompt="hello"), agent="toy") as run:
            last = [event async for event in run.events][-1]
            with pytest.raises(BackendError, match="toy backend error: other"):
                await run.wait_completed()
    assert last.message == "toy backend error: other (details redacted when unsafe)"
    assert "correct-horse" not in caplog.text
