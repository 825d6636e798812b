"""Test that runs yield the same results in this process and in a daemon, whatever the agent does."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import trio
from trio.testing import MockClock

from codex_adapter import (
    BackendError,
    CodexConfig,
    Completion,
    Event,
    RunCancelled,
    RunHandle,
    RunRequest,
    RunTimedOut,
)
from codex_adapter.events import TokenUsage
from codex_adapter.runtime.backend import Backend
from codex_adapter.testing import (
    CloseStdout,
    Die,
    Exit,
    Fill,
    Hang,
    PrintBytes,
    PrintJson,
    PrintText,
    ReadPrompt,
    Repeat,
    StartDescendant,
    Step,
    WriteStderr,
    demo_script,
    write_agent,
)
from codex_adapter.testing.thread_lines import (
    THREAD_ID,
    agent_message,
    command_completed,
    command_started,
    error,
    thread_started,
    turn_completed,
    turn_failed,
    turn_started,
)

from ...agents.codex.test_session_file import SESSION, count, told, write
from .transports import LIMIT, Daemon, InProcess, Seen, SlowDaemon, let_limits_pass, see

OTHER: Final = "0199a213-81c0-7800-8aa1-000000000000"
BEGUN: Final[tuple[Step, ...]] = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()))
DONE: Final = PrintJson(turn_completed())
RESUME: Final = "agent_api.session.resume.v1"
FORK: Final = "agent_api.session.fork.v1"
BIG: Final = "long “texts” " * 90_000  # more than a megabyte of UTF-8


class Case(NamedTuple):
    """What the agent does, what is asked of it, and how that ends: a status, or an error with its failure."""

    steps: tuple[Step, ...]
    ends: int | str | tuple[type[BackendError], str]
    request: dict[str, Any] = {}
    config: dict[str, Any] = {}
    said: int | None = None
    """The number of events before a limit passes; None if no limit does."""


def messages(*texts: str) -> tuple[Step, ...]:
    return (*BEGUN, *(PrintJson(agent_message(f"item_{n}", text)) for n, text in enumerate(texts)), DONE)


CASES: Final = {
    "a whole turn": Case(demo_script(), 0),
    "nothing at all": Case((), 0),
    "tool payloads": Case(demo_script(), 0, {"extensions": {"backend.codex.tool_payloads": "full"}}),
    "a failing status": Case((*BEGUN, Exit(3)), 3),
    "a hint": Case((*BEGUN, PrintJson(turn_failed("You've hit your usage limit.")), Exit(1)), 1),
    "a hint of stderr": Case((ReadPrompt(), WriteStderr("error: unexpected argument '--json' found\n"), Exit(2)), 2),
    "a death": Case((*BEGUN, Die("SIGSEGV")), "SIGSEGV"),
    "a death by kill": Case((*BEGUN, PrintJson(command_started("item_0", "make")), Die("SIGKILL")), "SIGKILL"),
    "stdout closed, then exit": Case((*messages("bye"), CloseStdout(), Exit(4)), 4),
    "an unfinished line": Case((*BEGUN, PrintText('{"type":"turn.', end="")), 0),
    "garbage": Case((*BEGUN, PrintText("no JSON"), PrintBytes(b"\xff\xfe\n[]\n{}\n"), DONE), 0),
    "a turn cut off": Case((*BEGUN, PrintJson(error("Reconnecting... 2/5"))), 0),
    "a timeout": Case((*BEGUN, Hang()), (RunTimedOut, "timeout"), {"timeout": LIMIT}, {}, 2),
    "a default timeout": Case((*BEGUN, Hang()), (RunTimedOut, "timeout"), {}, {"default_timeout": LIMIT}, 2),
    "a request's timeout wins": Case((*BEGUN, DONE), 0, {"timeout": 0}, {"default_timeout": 0.001}),
    "an idle timeout": Case((*BEGUN, Hang()), (RunTimedOut, "timeout"), {}, {"idle_timeout": LIMIT}, 2),
    "an idle timeout with a hint": Case(
        (*BEGUN, PrintJson(error("unexpected status 401 Unauthorized")), Hang()),
        (RunTimedOut, "timeout"),
        {},
        {"idle_timeout": LIMIT},
        3,
    ),
    "a tool timeout": Case(
        (*BEGUN, PrintJson(command_started("item_0", "make")), Hang()),
        (RunTimedOut, "timeout"),
        {},
        {"tool_timeout": LIMIT},
        3,
    ),
    "another session": Case(
        (*BEGUN, Hang()),
        (BackendError, "session"),
        {"extensions": {RESUME: {"selector": "id", "id": OTHER}}},
    ),
    "the session": Case(demo_script(), 0, {"extensions": {RESUME: {"selector": "id", "id": THREAD_ID}}}),
    "an unknown session": Case(
        (ReadPrompt(), WriteStderr("Error: no rollout found for thread id\n"), Exit(1)),
        (BackendError, "session"),
        {"extensions": {FORK: {"selector": "id", "id": OTHER}}},
    ),
    "texts of a megabyte": Case(messages(BIG, BIG), 0),
    "a line without an end": Case((*BEGUN, Fill(17 * 1024 * 1024), PrintText(""), DONE), 0),
    "other writing": Case(messages("Fixed: “ü”, 🦜 \u2028\u2029 \x85 \x7f \x00 ", "é" * 40_000), 0),
    "lone surrogates": Case((*BEGUN, PrintText(r'{"type":"x\ud800","item":{"type":"\udfff"}}'), DONE), 0),
    "large numbers": Case(
        (*BEGUN, PrintJson(turn_completed({"input_tokens": 2**70, "output_tokens": 0, "cached_input_tokens": 7}))), 0
    ),
    "many events": Case(
        (*BEGUN, Repeat('{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"m"}}', 3000), DONE), 0
    ),
    "a descendant that holds stdout": Case(
        (*BEGUN, StartDescendant("pid", session=True, daemon=True, hold_stdout=True), DONE), 0
    ),
    "masked secrets": Case(
        messages("the key is hunter2hunter2, the other swordfish99"),
        0,
        {"env": {"MY_TOKEN": "hunter2hunter2", "OTHER": "swordfish99"}},
        {"mask": ("OTHER",)},
    ),
    "a failed command": Case(
        (
            *BEGUN,
            PrintJson(command_started("item_0", "make")),
            PrintJson(command_completed("item_0", "make", "no rule\n", exit_code=2)),
            DONE,
        ),
        0,
    ),
}


def ended(outcome: Any) -> int | str | tuple[type[BackendError], str] | None:
    if isinstance(outcome, Completion):
        return outcome.status.signal or outcome.status.code
    return outcome["type"], outcome["failure"]


async def both(config: CodexConfig, request: RunRequest) -> tuple[Seen, Seen]:
    async with InProcess(config) as backend:
        expected = await see(backend, request)
    async with Daemon(config) as backend:
        return expected, await see(backend, request)


@pytest.mark.rule("J15", "F2", "F3", "F4", "K1", "S9", "B2")
async def test_every_agent_gives_the_same_run_either_way(tmp_path: Path) -> None:
    """All at once: those of one configuration, whose binary becomes the agent that the request names."""
    cases = {name: case for name, case in CASES.items() if not case.config and case.said is None}
    binary = tmp_path / "codex"
    binary.write_text('#!/bin/sh\nexec "$AGENT" "$@"\n')
    binary.chmod(0o755)
    expected: dict[str, Seen] = {}
    seen: dict[str, Seen] = {}

    async def one(runs: dict[str, Seen], backend: Backend, name: str, limit: trio.CapacityLimiter) -> None:
        case, directory = cases[name], tmp_path / name
        fields = {**case.request, "env": {**case.request.get("env", {}), "AGENT": str(directory / "codex")}}
        async with limit:
            runs[name] = await see(backend, RunRequest(prompt="x", working_dir=str(directory), **fields))

    for name, case in cases.items():
        write_agent(tmp_path / name, case.steps)
    for transport, runs in ((InProcess, expected), (Daemon, seen)):
        async with transport(CodexConfig(binary=str(binary))) as backend, trio.open_nursery() as nursery:
            limit = trio.CapacityLimiter(4)
            for name in cases:
                nursery.start_soon(one, runs, backend, name, limit)
    assert {name: ended(run.outcome) for name, run in expected.items()} == {
        name: case.ends for name, case in cases.items()
    }
    assert {name: run == expected[name] for name, run in seen.items()} == dict.fromkeys(cases, True)


@pytest.mark.rule("J15", "K1", "K2", "X5")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.config and case.said is None])
async def test_a_configuration_gives_the_same_run_either_way(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    config = CodexConfig(binary=write_agent(tmp_path / "bin", case.steps), **case.config)
    expected, seen = await both(config, RunRequest(prompt="x", working_dir=str(tmp_path), **case.request))
    assert ended(expected.outcome) == case.ends
    assert seen == expected


@pytest.mark.rule("J15", "K1", "K2")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.said is not None])
async def test_a_limit_that_passes_ends_the_same_run_either_way(tmp_path: Path, name: str, clock: MockClock) -> None:
    case = CASES[name]

    async def consumer(run: RunHandle, events: list[Event], _notes: list[Any]) -> None:
        events += [await run.events.receive() for _ in range(case.said or 0)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(let_limits_pass, clock)
            events += [event async for event in run.events]
            nursery.cancel_scope.cancel()

    config = CodexConfig(binary=write_agent(tmp_path / "bin", case.steps), **case.config)
    request = RunRequest(prompt="x", working_dir=str(tmp_path), **case.request)
    seen = []
    for transport in (InProcess, SlowDaemon):
        async with transport(config) as backend:
            seen.append(await see(backend, request, consumer))
    assert ended(seen[0].outcome) == case.ends
    assert seen[1] == seen[0]


@pytest.mark.nightly  # nothing but the release's own grace ends it, and that is ten seconds
@pytest.mark.rule("J15", "F8", "K6")
@pytest.mark.parametrize("steps", [(*BEGUN, CloseStdout(), Hang()), (*messages("done"), Hang())], ids=["F8", "K6"])
async def test_an_agent_that_does_not_exit_gives_the_same_run_either_way(
    tmp_path: Path, steps: tuple[Step, ...]
) -> None:
    expected, seen = await both(
        CodexConfig(binary=write_agent(tmp_path / "bin", steps)), RunRequest(prompt="x", working_dir=str(tmp_path))
    )
    assert seen == expected


@pytest.mark.rule("J15", "F10")
async def test_the_tokens_of_a_resumed_run_are_told_either_way(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write(home, count(40))
    turn = (PrintJson(thread_started(SESSION)), PrintJson(turn_started()), PrintJson(turn_completed(told(100))))
    config = CodexConfig(binary=write_agent(tmp_path / "bin", (ReadPrompt(), *turn)), codex_home=str(home))
    resume = {RESUME: {"selector": "id", "id": SESSION}}
    request = RunRequest(prompt="x", working_dir=str(tmp_path), extensions=resume)
    expected, seen = await both(config, request)
    assert isinstance(expected.outcome, Completion)
    assert expected.outcome.run_usage
    assert seen == expected


@pytest.mark.rule("J15", "F15")
async def test_the_tokens_of_a_cancelled_run_are_told_either_way(tmp_path: Path) -> None:
    async def cancel_at_turn_end(run: RunHandle, events: list[Event], _notes: list[Any]) -> None:
        while not (events and isinstance(events[-1].data, TokenUsage)):
            events.append(await run.events.receive())
        run.cancel()

    home = tmp_path / "home"
    write(home, count(40))
    turn = (PrintJson(thread_started(SESSION)), PrintJson(turn_started()), PrintJson(turn_completed(told(100))))
    config = CodexConfig(binary=write_agent(tmp_path / "bin", (ReadPrompt(), *turn, Hang())), codex_home=str(home))
    resume = {RESUME: {"selector": "id", "id": SESSION}}
    request = RunRequest(prompt="x", working_dir=str(tmp_path), extensions=resume)
    seen = []
    for transport in (InProcess, SlowDaemon):
        async with transport(config) as backend:
            seen.append((await see(backend, request, cancel_at_turn_end)).outcome)
    assert ended(seen[0]) == (RunCancelled, "cancelled")
    assert seen[0]["run_usage"]
    assert seen[1] == seen[0]


RECORDINGS: Final = Path(__file__).parents[3] / "fixtures" / "codex"
REPLAYING: Final = """\
#!/bin/sh
case "$1" in --version) echo codex-cli 0.163.0;; *) cat >&-; exec cat "$RECORDING";; esac
"""


def recordings(release: str) -> list[Path]:
    found = sorted((RECORDINGS / release).glob("*.jsonl"))
    return [path for path in found if not path.name.endswith(".events.jsonl")]


@pytest.mark.rule("J15", "T1")
@pytest.mark.parametrize(
    ("release", "each"),
    [
        ("0.169.0", 8),
        *(pytest.param(path.name, 1, marks=pytest.mark.nightly) for path in RECORDINGS.iterdir() if path.is_dir()),
    ],
)
async def test_the_recordings_of_a_release_give_the_same_runs_either_way(
    tmp_path: Path, release: str, each: int
) -> None:
    binary = tmp_path / "codex"
    binary.write_text(REPLAYING)
    binary.chmod(0o755)
    config = CodexConfig(binary=str(binary))
    differing: list[str] = []
    async with InProcess(config) as backend, Daemon(config) as daemon:
        for recording in recordings(release)[::each]:
            request = RunRequest(prompt="x", env={"RECORDING": str(recording)})
            expected = await see(backend, request)
            assert expected.events
            if await see(daemon, request) != expected:
                differing.append(recording.name)
    assert differing == []
