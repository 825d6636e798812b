"""An agent at work on a task: its answers are operations, and what comes of them is its next prompt (O15 to O17)."""

from __future__ import annotations

from typing import Final, Protocol

import trio

from codex_adapter import OversizeLine, RunRequest
from codex_adapter.prompting import OpenRun, PromptedAgent
from codex_adapter.protocols.operations.agent_answers import read_agent_answer
from codex_adapter.protocols.operations.agent_decisions import MAX_DECISION_BYTES, Decisions, Given
from codex_adapter.protocols.operations.agent_prompts import events_prompt, first_prompt
from codex_adapter.protocols.operations.agent_records import Ended, Reason, Records
from codex_adapter.protocols.operations.agent_session import AgentSession
from codex_adapter.protocols.operations.executor import Answer, Runtime, Waiting
from codex_adapter.protocols.operations.protocol import Approval
from codex_adapter.protocols.operations.state_file import StateError
from codex_adapter.protocols.operations.validation import Invalid
from codex_adapter.workspace import SteeringWatch

__all__ = ["MOST_TURNS", "AgentWork", "Sink"]

MOST_TURNS: Final = 20
"""Turns of an agent where nobody says how many."""
_WRONG_IN_A_ROW: Final = 3
_CHANGED: Final = "{} in the workspace has changed, which steers programs outside of the sandbox; look at it first"


class Sink(Protocol):
    """Whoever reads the records of the work."""

    async def write(self, data: bytes) -> bool:
        """Write whole lines at the reader's pace; False when nobody reads any more."""

    async def wait_reader_gone(self) -> None:
        """Return when nobody reads any more, as far as that can be told without writing."""


class AgentWork:
    """One piece of work: turns of the agent, each with its operations carried out, until it is done (O15).

    `request` is the run of a turn: its prompt is the task, its working directory the workspace, in which it is not run,
    and the extensions that this needs are added to its own. `decisions` are on what waits; None leaves it undecided.
    `turns` is at least 1.
    """

    def __init__(
        self,
        runtime: Runtime,
        agent: PromptedAgent,
        open_run: OpenRun,
        request: RunRequest,
        sink: Sink,
        *,
        decisions: Decisions | None = None,
        turns: int = MOST_TURNS,
    ) -> None:
        self._runtime = runtime
        self._task = request.prompt
        self._sink = sink
        self._decisions = decisions
        self._turns = turns
        self._records = Records()
        self._agent = AgentSession(agent, open_run, request, self._records, self._write)
        self._steering = SteeringWatch(request.working_dir or ".", runtime.steering)
        self._asking = trio.CancelScope()
        self._stopped = False

    def cancel(self) -> None:
        """End the agent's run in order, and carry out nothing more (O17)."""
        self._rest()
        self._agent.cancel()

    def kill(self) -> None:
        """As `cancel`, but the agent is not asked first."""
        self._rest()
        self._agent.kill()

    async def run(self) -> Ended:
        """Work to the end, and tell how it was. Raises `StateError`, once that has been told."""
        failure: StateError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            try:
                ended = await self._work()
            except StateError as error:
                failure, ended = error, self._ended("failed", error=f"the state: {error}")
            await self._write(self._records.ended(ended))
            nursery.cancel_scope.cancel()
        # Outside of the nursery, which would wrap it.
        if failure is not None:
            raise failure
        return ended

    async def _work(self) -> Ended:
        for answer in await self._runtime.unfinished():
            await self._to_rest(answer)
        prompt = first_prompt(self._task, self._runtime.steering)
        wrong = 0
        while (end := self._end()) is None:
            if self._records.turn == self._turns:
                return self._ended("turn_limit")
            if self._steering.changed() is not None:
                return self._ended("failed")
            self._records.turn += 1
            text = await self._agent.turn(prompt)
            if self._stopped:
                return self._ended("stopped")
            if text is None:
                return self._ended("failed")
            given = read_agent_answer(text)
            if isinstance(given, Invalid):
                wrong += 1
                answers = await self._to_rest(await self._runtime.refuse(given.error))
            else:
                wrong = 0
                await self._write(self._records.operations(given.message))
                answers = await self._to_rest(await self._runtime.take(given.message))
                if given.last and answers[-1].status == "completed":
                    return self._ended("completed")
            if wrong == _WRONG_IN_A_ROW:
                return self._ended("failed", error="the agent's messages are no operations, again and again")
            if self._agent.id is None:
                return self._ended("failed", error="the agent did not tell its session, so it cannot be answered")
            prompt = events_prompt([answer.line for answer in answers])
        return end

    async def _to_rest(self, answer: Answer) -> list[Answer]:
        """Deliver an answer, and those to the decisions on what waits, for as long as somebody decides."""
        answers = [answer]
        await self._deliver(answer)
        while (waiting := self._runtime.waiting()) is not None and (given := await self._ask(waiting)) is not None:
            answer = await self._decided(given)
            await self._deliver(answer)
            # What was no decision on what waits is nothing that the agent did.
            if answer.batch is not None:
                answers.append(answer)
        return answers

    async def _ask(self, waiting: Waiting) -> Given | None:
        given: Given | None = None
        if self._decisions is not None and not self._stopped:
            with trio.CancelScope() as self._asking:
                given = await self._decisions.next(waiting)
        return given

    async def _decided(self, given: Given) -> Answer:
        match given:
            case Approval():
                return await self._runtime.decide(given)
            case OversizeLine():
                reason = f"a decision must have at most {MAX_DECISION_BYTES} bytes"
                return await self._runtime.refuse(reason)
        return await self._runtime.take(given)

    async def _deliver(self, answer: Answer) -> None:
        # Before anybody can know of what waits.
        early = 0 if self._decisions is None else self._decisions.catch_up()
        if early:
            refused = await self._runtime.refuse(f"what came when no operation waited decides nothing; lines: {early}")
            await self._write(self._records.events(refused.line))
        if await self._write(self._records.events(answer.line)):
            await self._runtime.delivered(answer)

    async def _write(self, data: bytes) -> bool:
        read = await self._sink.write(data)
        if not read:
            self.cancel()
        return read

    def _end(self) -> Ended | None:
        """The end of the work, where nothing more can be done for now."""
        waiting = self._runtime.waiting()
        if self._stopped:
            return self._ended("stopped", waiting=waiting)
        return None if waiting is None else self._ended("awaiting_approval", waiting=waiting)

    def _ended(self, reason: Reason, *, waiting: Waiting | None = None, error: str | None = None) -> Ended:
        if error is None and (changed := self._steering.changed()) is not None:
            error = _CHANGED.format(changed)
        return Ended(reason, self._records.turn, self._agent.id, self._agent.outcome, waiting, error)

    def _rest(self) -> None:
        self._stopped = True
        self._runtime.stop()
        self._asking.cancel()

    async def _watch(self) -> None:
        await self._sink.wait_reader_gone()
        self.cancel()
