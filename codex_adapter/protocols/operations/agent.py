"""Let an agent work on a task: its answers are operations, and their events are its next prompt (O15 to O17)."""

from __future__ import annotations

from typing import Final, Protocol

import trio

from codex_adapter import OversizeLine, RunRequest
from codex_adapter.prompting import OpenRun, PromptedAgent
from codex_adapter.protocols.operations.agent_answers import parse_agent_message
from codex_adapter.protocols.operations.agent_decisions import MAX_DECISION_BYTES, DecisionInput, Decisions
from codex_adapter.protocols.operations.agent_prompts import events_prompt, first_prompt
from codex_adapter.protocols.operations.agent_records import Reason, RecordEncoder, WorkEnd
from codex_adapter.protocols.operations.agent_session import AgentSession
from codex_adapter.protocols.operations.executor import ExecutorReply, OperationExecutor, PendingApproval
from codex_adapter.protocols.operations.messages import Approval
from codex_adapter.protocols.operations.state_file import StateError
from codex_adapter.protocols.operations.validation import Invalid
from codex_adapter.workspace import SteeringWatch

__all__ = ["MOST_TURNS", "AgentWork", "Sink"]

MOST_TURNS: Final = 20
"""The default limit of turns."""
_MOST_INVALID: Final = 3
_CHANGED: Final = "{} in the workspace has changed. It configures programs outside of the sandbox. Check it first"


class Sink(Protocol):
    """The consumer of the records of the work."""

    async def write(self, data: bytes) -> bool:
        """Write complete lines at the reader's pace. Return False if the reader has closed."""

    async def wait_reader_closed(self) -> None:
        """Return when the reader has closed, if the system reports that without a write."""


class AgentWork:
    """The work of an agent on one task: turns of the agent, each with the execution of its operations (O15).

    `request` is the run of a turn. Its prompt is the task, and its working directory is the workspace, in which the
    agent does not run. `agent` adds the options of a turn. `decisions` are those on pending approvals; None leaves them
    undecided. `turns` is at least 1.
    """

    def __init__(
        self,
        executor: OperationExecutor,
        agent: PromptedAgent,
        open_run: OpenRun,
        request: RunRequest,
        sink: Sink,
        *,
        decisions: Decisions | None = None,
        turns: int = MOST_TURNS,
    ) -> None:
        self._executor = executor
        self._task = request.prompt
        self._sink = sink
        self._decisions = decisions
        self._turns = turns
        self._records = RecordEncoder()
        self._agent = AgentSession(agent, open_run, request, self._records, self._write)
        self._steering = SteeringWatch(request.working_dir or ".", executor.steering)
        self._decision_scope = trio.CancelScope()
        self._stopped = False

    def cancel(self) -> None:
        """End the agent's run with a stop signal, and execute nothing more (O17)."""
        self._stop()
        self._agent.cancel()

    def kill(self) -> None:
        """Kill the agent, and execute nothing more (O17)."""
        self._stop()
        self._agent.kill()

    async def run(self) -> WorkEnd:
        """Work to the end and return it. Raises `StateError`, after the record of the end."""
        failure: StateError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            try:
                ended = await self._work()
            except StateError as error:
                failure, ended = error, self._ended("failed", error=f"the state: {error}")
            await self._write(self._records.ended(ended))
            nursery.cancel_scope.cancel()
        # Raised outside of the nursery, which would wrap it in a group.
        if failure is not None:
            raise failure
        return ended

    async def _work(self) -> WorkEnd:
        for answer in await self._executor.resume_unfinished():
            await self._settle(answer)
        prompt = first_prompt(self._task, self._executor.steering)
        invalid = 0
        while (end := self._end()) is None:
            if self._records.turn == self._turns:
                return self._ended("turn_limit")
            if self._steering.find_change() is not None:
                return self._ended("failed")
            self._records.turn += 1
            text = await self._agent.turn(prompt)
            if self._stopped:
                return self._ended("stopped")
            if text is None:
                return self._ended("failed")
            message = parse_agent_message(text)
            if isinstance(message, Invalid):
                invalid += 1
                answers = await self._settle(await self._executor.refuse(message.error))
            else:
                invalid = 0
                await self._write(self._records.operations(message.message))
                answers = await self._settle(await self._executor.handle(message.message))
                if message.last and answers[-1].status == "completed":
                    return self._ended("completed")
            if invalid == _MOST_INVALID:
                return self._ended(
                    "failed", error=f"{_MOST_INVALID} messages of the agent in a row were not operations"
                )
            if self._agent.id is None:
                return self._ended("failed", error="the agent did not report its session, so it cannot be resumed")
            prompt = events_prompt([answer.line for answer in answers])
        return end

    async def _settle(self, answer: ExecutorReply) -> list[ExecutorReply]:
        """Deliver a reply. While an operation waits and a decision arrives, execute and deliver that too."""
        answers = [answer]
        await self._deliver(answer)
        while (pending := self._executor.pending()) is not None and (decision := await self._ask(pending)) is not None:
            answer = await self._decide(decision)
            await self._deliver(answer)
            # The reply to an invalid decision is not for the agent.
            if answer.batch is not None:
                answers.append(answer)
        return answers

    async def _ask(self, pending: PendingApproval) -> DecisionInput | None:
        decision: DecisionInput | None = None
        if self._decisions is not None and not self._stopped:
            with trio.CancelScope() as self._decision_scope:
                decision = await self._decisions.next(pending)
        return decision

    async def _decide(self, decision: DecisionInput) -> ExecutorReply:
        match decision:
            case Approval():
                return await self._executor.decide(decision)
            case OversizeLine():
                reason = f"a decision must have at most {MAX_DECISION_BYTES} bytes"
                return await self._executor.refuse(reason)
        return await self._executor.handle(decision)

    async def _deliver(self, answer: ExecutorReply) -> None:
        # A line that arrived before this reply cannot be a decision on an operation of it.
        early = 0 if self._decisions is None else self._decisions.catch_up()
        if early:
            refused = await self._executor.refuse(
                f"{early} lines arrived before an operation waited and were ignored. Send the decision again"
            )
            await self._write(self._records.events(refused.line))
        if await self._write(self._records.events(answer.line)):
            await self._executor.confirm_delivery(answer)

    async def _write(self, data: bytes) -> bool:
        read = await self._sink.write(data)
        if not read:
            self.cancel()
        return read

    def _end(self) -> WorkEnd | None:
        """Return the end of the work if it was stopped or an operation waits; else None."""
        pending = self._executor.pending()
        if self._stopped:
            return self._ended("stopped", pending=pending)
        return None if pending is None else self._ended("awaiting_approval", pending=pending)

    def _ended(self, reason: Reason, *, pending: PendingApproval | None = None, error: str | None = None) -> WorkEnd:
        if error is None and (changed := self._steering.find_change()) is not None:
            error = _CHANGED.format(changed)
        return WorkEnd(reason, self._records.turn, self._agent.id, self._agent.outcome, pending, error)

    def _stop(self) -> None:
        self._stopped = True
        self._executor.stop()
        self._decision_scope.cancel()

    async def _watch(self) -> None:
        await self._sink.wait_reader_closed()
        self.cancel()
