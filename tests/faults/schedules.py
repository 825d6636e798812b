"""Generate and play random schedules of one run for the agent, the consumer and the owner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import trio
from hypothesis import strategies as st
from trio.testing import MockClock

from codex_adapter import BackendError, Completion, ExitStatus, RunConfig, RunHandle
from codex_adapter.runtime.handle import live_run
from codex_adapter.runtime.run import Run

from ..agents.agent_lines import AgentLines, as_line
from ..agents.codex.sample_lines import CODEX_LINES
from .piped import AgentStep, Deed, PipedAgent, Trace

__all__ = ["Plan", "failure_text", "plans", "play"]

FAR: Final = 1e9
"""Seconds after which a run that has not ended hangs."""


class Own(Exception):
    """What a consumer raises."""


@dataclass(frozen=True)
class Plan:
    """One schedule. Moves of consumer and owner are a name and a number, most often of seconds."""

    agent: list[AgentStep]
    room: int
    status: ExitStatus | None
    stubborn: float
    timeout: float | None
    config: RunConfig
    consumer: list[tuple[str, float]]
    ending: str
    owner: list[tuple[float, str]]
    waiters: list[tuple[float, float]]
    order: int
    """Which of the tasks that are ready at the same moment go first."""
    backstop: float = 100.0
    """Seconds after which a run that goes on by right is cancelled."""
    lines: AgentLines = CODEX_LINES
    """The lines of the agent."""


def play(plan: Plan) -> Trace:
    """Carry the schedule through."""
    # trio takes turns at random; this makes them a part of the schedule. pytest-trio has told hypothesis of it.
    trio._core._run._r.seed(plan.order)
    trace = Trace()
    trio.run(_play, plan, trace, clock=MockClock(autojump_threshold=0))
    return trace


async def _play(plan: Plan, trace: Trace) -> None:
    agent = PipedAgent(plan.agent, trace, status=plan.status, stubborn=plan.stubborn, room=plan.room)
    handle = Run(agent, plan.lines.pipeline(), config=plan.config, timeout=plan.timeout)
    scope, owner = trio.CancelScope(), trio.CancelScope()
    deeds = [*plan.owner, (plan.backstop, "cancel")]
    with trio.fail_after(FAR):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_own, handle, scope, owner, deeds, trace)
            for delay, patience in plan.waiters:
                nursery.start_soon(_wait, handle, trace, delay, patience)
            try:
                with scope:
                    async with live_run(handle) as run:
                        await _consume(run, plan, trace)
                        trace("leaving")
            except Own as error:
                trace("came out", error)
            trace("over")
            await _wait(handle, trace, 0, math.inf)
            owner.cancel()


async def _consume(run: RunHandle, plan: Plan, trace: Trace) -> None:
    for name, number in (*plan.consumer, (plan.ending, 7.0)):
        if name == "take":
            for _ in range(int(number)):
                await _take(run, trace)
        elif name == "take a batch":
            await _take(run, trace, batch=True)
        elif name == "stall":
            await trio.sleep(number)
        elif name == "close":
            trace("left")
            await run.events.aclose()
        elif name == "await":
            await _wait(run, trace, 0, number)
        elif name == "read to the end":
            while await _take(run, trace):
                pass
            await _wait(run, trace, 0, number)
        elif name == "raise":
            trace("raised")
            raise Own("mine")


async def _take(run: RunHandle, trace: Trace, *, batch: bool = False) -> bool:
    trace("take")
    try:
        events = await run.events.receive_batch() if batch else [await run.events.receive()]
    except trio.EndOfChannel:
        trace("end")
        return False
    except trio.ClosedResourceError:
        trace("closed")
        return False
    for event in events:
        trace("got", event)
    return True


async def _wait(run: RunHandle, trace: Trace, delay: float, patience: float) -> None:
    await trio.sleep(delay)
    trace("awaited")
    outcome: Completion | BackendError
    with trio.move_on_after(patience):
        try:
            outcome = await run.wait_completed()
        except BackendError as error:
            outcome = error
        trace("given", outcome)


async def _own(
    run: RunHandle, scope: trio.CancelScope, owner: trio.CancelScope, deeds: list[tuple[float, str]], trace: Trace
) -> None:
    with owner:
        for delay, deed in deeds:
            await trio.sleep(delay)
            await _do(deed, run, scope, trace)


async def _do(deed: str, run: RunHandle, scope: trio.CancelScope, trace: Trace) -> None:
    if deed == "cancel":
        trace("cancelled")
        run.cancel()
    elif deed == "kill":
        trace("cancelled")
        run.kill()
    elif deed == "close":
        trace("left")
        await run.events.aclose()
    else:
        trace("scope cancelled")
        scope.cancel()


DELAYS = st.sampled_from([0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 3.0, 5.0])


def _torn(line: bytes, at: int, pause: float) -> list[AgentStep]:
    return [line[: at % len(line)], pause, line[at % len(line) :]]


UNKNOWN: Final = as_line({"type": "tomorrow"})
BAD: Final = (b"garbage\n", b" \n", as_line({"type": 7}))


def failure_text(lines: AgentLines, failure: str) -> str:
    """Return the text of a failure: `io` if the pipe breaks, `wait` if the status is lost, `timeout`."""
    return f"{lines.kind} backend error: {failure} (details redacted when unsafe)"


def _agents(lines: AgentLines) -> st.SearchStrategy[list[AgentStep]]:
    """Return steps of an agent with these lines."""
    session, turn, done = lines.session(), lines.turn, lines.completed()
    line = st.one_of(
        st.integers(0, 99).map(lambda number: lines.message(str(number), number)),
        st.sampled_from([turn, done, lines.completed(4), lines.failed]),
        st.builds(lines.tool, st.sampled_from(["started", "completed"]), st.integers(1, 2)),
        st.sampled_from([lines.trouble, UNKNOWN, *BAD, session]),
    )
    printed = st.one_of(
        line.map(lambda line: [line]),
        st.lists(line, min_size=2, max_size=4).map(lambda several: [b"".join(several)]),
        st.builds(_torn, line, st.integers(0, 200), DELAYS),
        line.map(lambda line: [line.rstrip(b"\n")]),
        st.sampled_from([lines.trouble, BAD[0], UNKNOWN, turn]).map(lambda line: [1.0, line] * 3),
    )
    deeds: list[AgentStep] = [Deed.CLOSE, Deed.EXIT, math.inf, BackendError("io")]
    begun = session + turn + lines.message("a") + lines.message("b")
    return st.builds(
        lambda head, middle, deed, tail: [*head, *(step for steps in middle for step in steps), *deed, *tail],
        st.sampled_from([[session, turn], [begun], [session, turn, 1.0], []]),
        st.lists(printed | DELAYS.map(lambda delay: [delay]), max_size=8),
        st.sampled_from([[], [done], [done], [done, math.inf], *([deed] for deed in deeds), [done, Deed.EXIT]]),
        st.lists(DELAYS | line | st.sampled_from(deeds), max_size=4),
    )


def _optional(*durations: float) -> st.SearchStrategy[float | None]:
    return st.sampled_from([None, None, *durations])


CONFIGS = st.builds(
    lambda idle, tool_limit, exit_grace, descendant_grace: RunConfig(
        idle_timeout=idle, tool_timeout=tool_limit, exit_grace=exit_grace, descendant_grace=descendant_grace
    ),
    _optional(1.0, 2.0),
    _optional(2.0),
    st.sampled_from([0.0, 1.0, 2.0, 5.0]),
    st.sampled_from([0.0, 1.0, 2.0]),
)
MOVES = st.one_of(
    st.tuples(st.just("take"), st.sampled_from([1.0, 1.0, 2.0, 3.0])),
    st.just(("take a batch", 1.0)),
    st.tuples(st.just("stall"), DELAYS),
    st.tuples(st.just("await"), st.sampled_from([0.0, 1.0, 3.0])),
    st.just(("close", 0.0)),
)


def plans(lines: AgentLines) -> st.SearchStrategy[Plan]:
    """Return everything that can happen to a run of this agent."""
    return st.builds(
        Plan,
        lines=st.just(lines),
        agent=_agents(lines),
        room=st.sampled_from([1, 200, 100_000]),
        status=st.sampled_from([*[ExitStatus(code=0)] * 3, ExitStatus(code=3), ExitStatus(signal="SIGKILL"), None]),
        stubborn=st.sampled_from([0.0, 1.0, 3.0]),
        timeout=_optional(0.5, 1.0, 3.0),
        config=CONFIGS,
        consumer=st.lists(MOVES, max_size=5),
        ending=st.sampled_from([*["read to the end"] * 3, "close", "leave", "raise", "await"]),
        owner=st.lists(st.tuples(DELAYS, st.sampled_from(["cancel", "kill", "close", "scope"])), max_size=2)
        | st.just([]),
        waiters=st.lists(st.tuples(DELAYS, st.sampled_from([0.0, 2.0, math.inf, math.inf])), max_size=2),
        order=st.integers(0, 2**16),
    )
