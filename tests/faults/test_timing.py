"""Test the ends of turn, output, process and time limits, in every order and at the same instant."""

from __future__ import annotations

import math
from contextlib import nullcontext
from itertools import permutations, product
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from codex_adapter import BackendError, CodexConfig, Completion, RunCancelled, RunRequest, RunTimedOut, open_run
from codex_adapter.events import ExitStatus
from codex_adapter.testing import Exit, Hang, IgnoreSignals, PrintText, Sleep, WaitFor
from codex_adapter.testing.source import EXIT

from ..agents.agent_lines import AgentLines
from ..agents.codex.sample_lines import CODEX_LINES
from ..agents.table import each_agent
from ..runtime.agents import WHOLE_TURN, config
from ..runtime.scripted import DONE, THREAD, TURN, TURN_OF_ONE_MESSAGE, running, say, texts, tool
from .piped import AgentStep, Deed, Trace
from .schedules import Plan, play
from .verdict import Verdict

DEEDS: Final = ("turn's end", "end of output", "exit")
PATIENT: Final = CodexConfig(exit_grace=50, descendant_grace=50)
TIMEOUT: Final = "codex backend error: timeout (details redacted when unsafe)"


def judged(agent: list[AgentStep], **others: Any) -> tuple[Trace, Completion | BackendError]:
    """What came of a schedule, once the model has found nothing wrong with it."""
    standard: dict[str, Any] = {
        **{"room": 100_000, "status": ExitStatus(code=0), "stubborn": 0.0, "timeout": None, "config": PATIENT},
        **{
            "consumer": [],
            "ending": "read to the end",
            "owner": [],
            "waiters": [(0.0, math.inf)] * 2,
            "order": 0,
            "backstop": 1e6,
        },
    }
    plan = Plan(agent=agent, **{**standard, **others})
    trace = play(plan)
    Verdict(plan, trace).check()
    return trace, trace.all("given")[0].detail


def in_turn(*deeds: AgentStep, pause: float = 1.0, lines: AgentLines = CODEX_LINES) -> list[AgentStep]:
    """A turn with a message, then these, a second apart."""
    steps: list[AgentStep] = [lines.session() + lines.turn + lines.message("hello")]
    for deed in deeds:
        steps += [pause, deed]
    return steps


def deed(agent: AgentLines, name: str) -> AgentStep:
    """Return the step of a deed; a stop is none of the agent's."""
    steps: dict[str, AgentStep] = {"turn's end": agent.completed(), "end of output": Deed.CLOSE, "exit": Deed.EXIT}
    return steps.get(name, 0.0)


@pytest.mark.fault("timing", "Turn end, end of output and exit occur in each possible order", "The run has one outcome")
@pytest.mark.rule("F1", "F2", "F7", "F8")
@each_agent
@pytest.mark.parametrize("order", list(permutations(DEEDS)), ids=", ".join)
def test_a_run_ends_in_any_order(agent: AgentLines, order: tuple[str, ...]) -> None:
    _, outcome = judged(in_turn(*(deed(agent, name) for name in order), lines=agent), lines=agent)
    assert isinstance(outcome, Completion)
    unread = order.index("turn's end") > order.index("end of output")
    assert outcome.turn == ("cut_off" if unread else "completed")


@pytest.mark.fault(
    "timing",
    "A cancel, turn end, end of output and exit occur in each of the 24 orders",
    "The run is cancelled unless output and process have ended",
)
@pytest.mark.fault(
    "timing",
    "A timeout, turn end, end of output and exit occur in each of the 24 orders",
    "The run times out unless the process has exited",
)
@pytest.mark.rule("F1", "F6", "K1", "K3")
@pytest.mark.parametrize("stop", ["cancel", "kill", "timeout"])
@pytest.mark.parametrize("order", list(permutations([*DEEDS, "stop"])), ids=", ".join)
@each_agent
def test_a_run_is_stopped_anywhere(agent: AgentLines, order: tuple[str, ...], stop: str) -> None:
    place = order.index("stop")
    steps = in_turn(*(deed(agent, name) for name in order), lines=agent)
    if stop == "timeout":
        _, outcome = judged(steps, timeout=place + 1.0, lines=agent)
        assert isinstance(outcome, Completion if order.index("exit") < place else RunTimedOut)
    else:
        _, outcome = judged(steps, owner=[(place + 1.0, stop)], lines=agent)
        over = max(order.index("exit"), order.index("end of output")) < place
        assert isinstance(outcome, Completion if over else RunCancelled)


TIES = [
    pytest.param(
        [*in_turn(DONE), Deed.CLOSE, Deed.EXIT],
        {"timeout": 1.0},
        marks=pytest.mark.fault(
            "timing",
            "The timeout expires at the instant of the exit",
            "All observers see the same one of the two outcomes",
        ),
    ),
    pytest.param(
        [*in_turn(DONE), Deed.CLOSE, Deed.EXIT],
        {"owner": [(1.0, "cancel")]},
        marks=pytest.mark.fault(
            "timing", "A cancel occurs at the instant of the exit", "All observers see the same one of the two outcomes"
        ),
    ),
    pytest.param(
        [*in_turn(say("b"), DONE)],
        {"config": CodexConfig(idle_timeout=1)},
        marks=pytest.mark.fault(
            "timing",
            "An event arrives at the instant of the idle timeout",
            "All observers see the same one of the two outcomes",
        ),
    ),
    pytest.param(
        [*in_turn(tool("started")), 2.0, tool("completed"), DONE],
        {"config": CodexConfig(tool_timeout=2)},
        marks=pytest.mark.fault(
            "timing",
            "A tool completes at the instant of its timeout",
            "All observers see the same one of the two outcomes",
        ),
    ),
    pytest.param(
        [*in_turn(DONE), Deed.EXIT, 1.0, say("late"), Deed.CLOSE],
        {"config": CodexConfig(descendant_grace=1)},
        marks=pytest.mark.fault(
            "timing", "A descendant prints at the end of its grace period", "The completion is correct"
        ),
    ),
    pytest.param(
        [*in_turn(DONE), 1.0, TURN, 0.5, DONE, Deed.EXIT],
        {"config": CodexConfig(exit_grace=1)},
        marks=pytest.mark.fault(
            "timing", "A new turn starts at the end of the exit grace period", "The outcome is correct"
        ),
    ),
    pytest.param(
        [*in_turn(Deed.CLOSE), 1.0, Deed.EXIT],
        {"config": CodexConfig(exit_grace=1)},
        marks=pytest.mark.fault(
            "timing", "The agent exits at the end of the exit grace period", "All observers see the same outcome"
        ),
    ),
    pytest.param(
        [math.inf],
        {"timeout": 1.0, "config": CodexConfig(idle_timeout=1), "owner": [(1.0, "scope")]},
        marks=pytest.mark.fault(
            "timing",
            "Timeout, idle timeout and a scope cancel occur at the same instant",
            "All observers see the same outcome",
        ),
    ),
    pytest.param(
        [*in_turn(DONE, pause=0.0), Deed.CLOSE, Deed.EXIT],
        {"timeout": 0.0, "owner": [(0.0, "cancel")], "config": CodexConfig(exit_grace=0, descendant_grace=0)},
        marks=pytest.mark.fault(
            "timing",
            "Turn end, exit, cancel and timeout occur at once, with zero grace periods",
            "All observers see the same outcome",
        ),
    ),
]


@pytest.mark.rule("F5", "F6", "K1", "K2", "K6", "F7", "F8")
@pytest.mark.parametrize(("agent", "others"), TIES)
def test_ties_have_one_outcome(agent: list[AgentStep], others: dict[str, Any]) -> None:
    for order, stubborn, slow in product(range(6), (0.0, 1.0), (False, True)):
        consumer = [("take", 1.0), ("stall", 1.0)] if slow else []
        judged(agent, order=order, stubborn=stubborn, consumer=consumer, **others)


@pytest.mark.rule("K3", "F6", "K5")
@pytest.mark.parametrize(
    ("at", "seen", "cancelled"),
    [
        pytest.param(
            0.0,
            0,
            True,
            marks=pytest.mark.fault("timing", "A cancel occurs before the first byte", "The run is cancelled"),
        ),
        pytest.param(
            1.5,
            0,
            True,
            marks=pytest.mark.fault("timing", "A cancel occurs in the middle of a line", "The run is cancelled"),
        ),
        pytest.param(
            2.5,
            3,
            True,
            marks=pytest.mark.fault(
                "timing", "A cancel occurs during a turn", "The run is cancelled without a further event"
            ),
        ),
        pytest.param(
            3.5,
            4,
            True,
            marks=pytest.mark.fault(
                "timing", "A cancel occurs between turn end and end of output", "The run is cancelled"
            ),
        ),
        pytest.param(
            4.5,
            4,
            True,
            marks=pytest.mark.fault("timing", "A cancel occurs between end of output and exit", "The run is cancelled"),
        ),
        pytest.param(
            5.5, 4, False, marks=pytest.mark.fault("timing", "A cancel occurs after the completion", "Nothing changes")
        ),
    ],
)
def test_cancel_in_every_phase(at: float, seen: int, cancelled: bool) -> None:
    first = THREAD + TURN + say("hello")
    agent: list[AgentStep] = [1.0, first[:9], 1.0, first[9:], 1.0, DONE, 1.0, Deed.CLOSE, 1.0, Deed.EXIT]
    for stubborn in (0.0, 3.0):
        trace, outcome = judged(agent, owner=[(at, "cancel")], stubborn=stubborn)
        assert (len(trace.all("got")), isinstance(outcome, RunCancelled)) == (seen, cancelled)


@pytest.mark.fault(
    "timing",
    "A cancel occurs after the exit and before the consumer reads the events",
    "The run is cancelled and the events end",
)
@pytest.mark.rule("F6", "K3")
def test_cancel_after_the_exit_ends_events_that_were_not_read() -> None:
    trace, outcome = judged(in_turn(DONE), consumer=[("take", 1.0), ("stall", 9.0)], owner=[(5.0, "cancel")])
    assert isinstance(outcome, RunCancelled)
    assert len(trace.all("got")) == 1


@pytest.mark.fault(
    "timing",
    "A caller sends cancel, kill and cancel while the agent ignores signals",
    "The adapter performs the first step only once",
)
@pytest.mark.fault("timing", "A cancel occurs while the run ends after a timeout", "The run is cancelled")
@pytest.mark.rule("K3", "K4", "F6")
@pytest.mark.parametrize("timeout", [None, 1.0])
def test_a_run_that_is_being_ended_is_ended_again(timeout: float | None) -> None:
    owner = [(2.0, "cancel"), (1.0, "cancel"), (1.0, "kill"), (0.0, "cancel")]
    trace, outcome = judged([THREAD, math.inf], owner=owner, stubborn=20.0, timeout=timeout)
    assert isinstance(outcome, RunCancelled)
    assert len(trace.all("stop")) == 1
    assert trace.all("exit")[0].at == 4.0


@pytest.mark.fault("timing", "The consumer sleeps longer than the sum of all limits", "No limit expires")
@pytest.mark.rule("D4", "K1", "K2")
def test_no_limit_passes_while_the_consumer_sleeps() -> None:
    agent = in_turn(tool("started"), tool("completed"), say("b"), DONE)
    limits = CodexConfig(idle_timeout=1.5, tool_timeout=1.5, exit_grace=1.5, descendant_grace=0)
    sleepy = [("take", 1.0), ("stall", 500.0)] * 8
    trace, outcome = judged(agent, timeout=5.0, config=limits, consumer=sleepy, room=1)
    assert isinstance(outcome, Completion)
    assert len(trace.all("got")) == 7


@pytest.mark.fault(
    "timing",
    "The consumer sleeps when the agent exits, and the grace period is zero",
    "The adapter reads the whole output",
)
@pytest.mark.rule("D4", "F7")
@pytest.mark.parametrize("grace", [0.0, 1e-9, 2.0])
async def test_what_was_printed_before_the_exit_is_read_however_short_the_grace(tmp_path: Path, grace: float) -> None:
    apart = [step for line in WHOLE_TURN for step in (line, Sleep(0.02))]
    settings = config(tmp_path, *apart, descendant_grace=grace)
    async with open_run(RunRequest(prompt="x"), config=settings) as run:
        await run.events.receive()
        await trio.sleep(0.4)
        assert len([event async for event in run.events]) == 3
        assert (await run.wait_completed()).turn == "completed"


@pytest.mark.fault("timing", "The consumer reads one event a day", "No limit expires and the consumer reads all events")
@pytest.mark.rule("D4", "F7")
def test_a_consumer_that_reads_one_event_a_day_sees_the_end() -> None:
    lines = [say(str(number), number) for number in range(60)]
    day = [("take", 1.0), ("stall", 86_400.0)]
    _, outcome = judged([THREAD, *lines, DONE], consumer=day * 11, timeout=10.0, room=1)
    assert isinstance(outcome, Completion)


@pytest.mark.fault("timing", "The timeout is one nanosecond", "The run ends at once and no process survives")
@pytest.mark.fault("timing", "The timeout exceeds the range of every clock", "The timeout never expires")
@pytest.mark.rule("K1", "Q5")
@pytest.mark.parametrize(("timeout", "passes"), [(1e-9, True), (5e-324, True), (0.0, False), (1e300, False)])
async def test_a_timeout_of_any_size(tmp_path: Path, timeout: float, passes: bool) -> None:
    steps = [IgnoreSignals(("SIGTERM",)), Hang()] if passes else WHOLE_TURN
    with pytest.raises(RunTimedOut) if passes else nullcontext():
        async with open_run(RunRequest(prompt="x", timeout=timeout), config=config(tmp_path, *steps)) as run:
            await run.events.aclose()
            assert (await run.wait_completed()).turn == "completed"


@pytest.mark.fault(
    "timing", "All grace periods are zero", "A successful run is complete; other runs are killed at once"
)
@pytest.mark.rule("K4", "K6", "F7")
async def test_graces_of_zero(tmp_path: Path) -> None:
    settings = config(tmp_path, *WHOLE_TURN[:3], WaitFor("never"), descendant_grace=0, stop_timeout=0, exit_grace=0)
    async with open_run(RunRequest(prompt="x", timeout=2), config=settings) as run:
        assert [event.message async for event in run.events][-1] == TIMEOUT
    # With an `exit_grace` of zero too, it would be a matter of chance whether the exit is seen with the end of output.
    settings = config(tmp_path, *WHOLE_TURN[:3], Exit(0), descendant_grace=0, stop_timeout=0)
    async with open_run(RunRequest(prompt="x"), config=settings) as run:
        assert len([event async for event in run.events]) == 3
        assert (await run.wait_completed()).turn == "cut_off"


@pytest.mark.fault("timing", "The clock has run for decades", "Limits expire on time")
@pytest.mark.rule("K1", "K2")
def test_limits_on_an_old_clock() -> None:
    async def run() -> None:
        begun = trio.current_time()
        async with running([THREAD, math.inf], timeout=0.25) as (handle, _):
            assert (await texts(handle))[-1] == TIMEOUT
        assert trio.current_time() - begun == pytest.approx(0.25, abs=1e-3)

    clock = MockClock(autojump_threshold=0)
    clock.jump(1e9)
    trio.run(run, clock=clock)


@pytest.mark.fault("timing", "A caller enters the block in a cancelled scope", "The adapter ends the agent")
@pytest.mark.fault("timing", "A caller cancels the scope while the agent starts", "No process survives")
@pytest.mark.rule("K5")
@pytest.mark.parametrize("delay", [0.0, 0.001, 0.02, 0.1])
async def test_a_scope_cancelled_during_the_start_leaves_nothing(tmp_path: Path, delay: float) -> None:
    settings = config(tmp_path, PrintText("x"), Hang())
    with trio.fail_after(60):
        with trio.move_on_after(delay) as scope:
            async with open_run(RunRequest(prompt="x"), config=settings) as run:
                await run.events.receive()
                await trio.sleep_forever()
    assert scope.cancelled_caught


@pytest.mark.fault("timing", "A caller cancels the run before it starts", "The run is cancelled without events")
@pytest.mark.rule("K3", "F4")
async def test_a_cancel_before_anything_has_run(autojump_clock: MockClock) -> None:
    async with running([*TURN_OF_ONE_MESSAGE, EXIT, math.inf], held=True) as (run, _):
        run.cancel()
        assert [event async for event in run.events] == []
        with pytest.raises(RunCancelled):
            await run.wait_completed()
