"""Host one run in the daemon, from the queue to its `run/completed` (J4, J8, J9)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

import trio

from codex_adapter import (
    AdapterError,
    BackendError,
    Completion,
    Event,
    Gateway,
    InvalidRequestError,
    RunCancelled,
    RunHandle,
    RunRequest,
    RunSetup,
)
from codex_adapter.daemon.journal import JournalFile, cannot_be_kept
from codex_adapter.daemon.messages import LiveRun, RunCompleted, RunEvent, WaitsFor
from codex_adapter.daemon.run_record import run_record
from codex_adapter.daemon.run_slots import Slot
from codex_adapter.daemon.transport import SendQueue
from codex_adapter.records import encode_completion, encode_events, split_batch, text_size

__all__ = ["HostedRun"]

_PIECE: Final = 256 * 1024
"""Characters of text that one run may send before the next run's turn: four texts of the maximum size."""
_log = logging.getLogger("codex_adapter")


class HostedRun:
    """A run of the daemon. `run` is its task. All other methods may be called at any time, and do not wait.

    `settled` is set when the run is accepted or refused. Then `refusal` is the error that refused it, or None, and
    `is_known` is whether the journal already had a run with this id. (J8)
    """

    def __init__(
        self,
        run_id: str,
        agent_kind: str,
        *,
        slot: Slot,
        send_queue: SendQueue,
        journal: JournalFile | None,
        credit: int | None,
    ) -> None:
        self.run_id = run_id
        self.settled = trio.Event()
        self.refusal: AdapterError | None = None
        self.is_known = False
        self._agent_kind = agent_kind
        self._slot = slot
        self._send_queue = send_queue
        self._journal = journal
        self._first_line = b"" if journal is None else run_record(run_id, agent_kind, RunRequest(prompt=""))
        """The first line of the journal; empty after it is written (J19)."""
        self._credit = credit
        self._credited = trio.Event()
        self._announced = trio.Event()
        self._born = trio.current_time()
        self._opening = trio.CancelScope()
        self._run: RunHandle | None = None
        self._waits_for: WaitsFor = "start" if slot.granted.is_set() else "slot"
        self._ending = self._detached = self._idle = False
        self._sent = self._next_seq = 0

    def listed(self) -> LiveRun:
        """Return the run as an item of `run/list`."""
        return LiveRun(
            run_id=self.run_id,
            agent_kind=self._agent_kind,
            age_seconds=round(trio.current_time() - self._born, 3),
            events=self._sent,
            waits_for="end" if self._ending and self._waits_for != "supervisor" else self._waits_for,
            detached=self._detached,
        )

    def announce(self) -> None:
        """Allow messages of the run, after the answer that accepts it was sent (J4)."""
        self._announced.set()

    def cancel(self) -> None:
        """Cancel the run (K3)."""
        self._ending = True
        self._wake()
        if self._journal is not None:
            self._journal.hurry()
        if self._run is None:
            self._opening.cancel()
        else:
            self._run.cancel()

    def kill(self) -> None:
        """Cancel the run without asking its agent first (K4)."""
        self.cancel()
        if self._run is not None:
            self._run.kill()

    def grant(self, events: int | None) -> None:
        """Allow this number of further events, or any number if None (J9)."""
        self._credit = None if events is None or self._credit is None else self._credit + events
        self._wake()

    def detach(self) -> None:
        """Send no more events of the run. A journal still records them. (J3, J12)"""
        self._detached = True
        self.grant(None)
        if self._run is not None and self._journal is None:
            self._run.events.leave()

    async def run(self, gateway: Gateway, request: RunRequest) -> None:
        """Wait for the slot, run the agent, and send the completion unless the run is refused. Raise no error."""
        try:
            outcome = await self._run_agent(gateway, request)
        except AdapterError as error:
            outcome = error
        except Exception as error:  # noqa: BLE001 - a defect of the adapter must not end the other runs
            # Log only the type: the message of a foreign error can quote input (X3).
            _log.error("internal error: %s", type(error).__name__)
            outcome = BackendError("other")
        if isinstance(outcome, BackendError):
            self._complete_error(outcome)
        if isinstance(outcome, RunCancelled):
            self.settled.set()
        _log.info("run %s: %s after %.1f s", self.run_id, _ending(outcome), trio.current_time() - self._born)
        if self.settled.is_set():
            await self._announced.wait()
            await self._complete(outcome)
        elif isinstance(outcome, AdapterError):
            self.refusal = outcome
        if self._journal is not None:
            if self.refusal is None:
                await self._journal.close()
            else:
                await self._journal.withdraw()
        self._slot.release()
        # Set it last: after a refusal, the id and the slot are free, and the journal is removed.
        self.settled.set()

    def _wake(self) -> None:
        self._credited.set()
        self._credited = trio.Event()

    async def _run_agent(self, gateway: Gateway, request: RunRequest) -> Completion | AdapterError:
        with self._opening:
            if self._journal is not None:
                await self._create(self._journal)
            if not self._slot.granted.is_set():
                self._note_setup(request, await gateway.check(self._agent_kind, request), None)
                self.settled.set()
                await self._slot.granted.wait()
            self._waits_for = "start"
            async with gateway.open_run(self._agent_kind, request) as run:
                self._run = run
                self.settled.set()
                await self._announced.wait()
                _log.info("run %s: the agent has started, with containment %s", self.run_id, run.containment)
                self._note_setup(request, run.setup, run.containment)
                if self._journal is not None:
                    await self._append(self._journal, b"")
                await self._forward(run)
                return await run.wait_completed()
        return RunCancelled("cancelled")

    def _note_setup(self, request: RunRequest, setup: RunSetup | None, containment: str | None) -> None:
        """Build the first line of the journal (J19)."""
        if self._journal is not None:
            self._first_line = run_record(
                self.run_id,
                self._agent_kind,
                request,
                setup=setup,
                containment=containment,
                prompt=self._journal.keeps_prompt,
            )

    async def _forward(self, run: RunHandle) -> None:
        """Send all events. Stop reading them if neither the supervisor nor a journal needs them."""
        self._waits_for = "agent"
        run.events.offer_to(self._send_now)
        self._wait(run)
        async for batch in run.events.batches():
            self._idle = False
            for piece in split_batch(batch, _PIECE):
                await self._send(piece)
            self._waits_for = "agent"
            self._wait(run)

    def _wait(self, run: RunHandle) -> None:
        """Wait for the next events, or stop reading them if neither the supervisor nor a journal needs them."""
        if self._journal is None and (self._detached or not self._send_queue.open):
            run.events.leave()
        self._idle = True

    def _send_now(self, events: Sequence[Event]) -> bool:
        """Send these events immediately if nothing waits before them. Return whether they were sent.

        This saves the switch to this run's task. After a batch is passed to the task, all later batches are passed to
        it until it is idle.
        """
        self._idle = self._idle and self._may_send_now(events)
        if self._idle:
            self._spend(len(events))
            self._send_queue.send_now([RunEvent.of(self.run_id, event) for event in events])
            self._next_seq = events[-1].seq + 1
        return self._idle

    def _may_send_now(self, events: Sequence[Event]) -> bool:
        return (
            self._send_queue.idle
            and self._journal is None
            and not self._detached
            and (self._credit is None or self._credit >= len(events))
            and text_size(events) < _PIECE
        )

    def _spend(self, events: int) -> None:
        self._sent += events
        if self._credit is not None:
            self._credit -= events

    async def _send(self, events: Sequence[Event]) -> None:
        """Write these events to the journal, and send them within the credit. Drop them after a cancellation. (K3)"""
        while events and not self._ending:
            if self._credit == 0:
                self._waits_for = "credit"
                await self._credited.wait()
                continue
            part, events = events[: self._credit], events[self._credit or len(events) :]
            if self._journal is not None:
                await self._append(self._journal, encode_events(part))
            self._next_seq = part[-1].seq + 1
            if not self._detached:
                self._waits_for = "supervisor"
                self._spend(len(part))
                await self._send_queue.send([RunEvent.of(self.run_id, event) for event in part])

    async def _complete(self, outcome: Completion | AdapterError) -> None:
        record = encode_completion(self._next_seq, outcome)
        if self._journal is not None:
            try:
                # Close the file before the wait for the supervisor: more runs may end together than files can be open.
                await self._append(self._journal, record, last=True)
            except BackendError as error:
                record = encode_completion(self._next_seq, self._complete_error(error))
                await self._journal.close()
        self._waits_for = "supervisor"
        await self._send_queue.send([RunCompleted.of(self.run_id, self._next_seq, record)])

    def _complete_error(self, error: BackendError) -> BackendError:
        """Set the agent kind and the session of this run in an error, and return it."""
        error.session_id = None if self._run is None else self._run.session_id
        return error.of_agent(self._agent_kind)

    async def _create(self, journal: JournalFile) -> None:
        try:
            await journal.create()
        except FileExistsError:
            self.is_known = True
            raise InvalidRequestError("the journal already has a run with this id") from None
        except OSError:
            raise (RunCancelled("cancelled") if self._ending else cannot_be_kept()) from None

    async def _append(self, journal: JournalFile, records: bytes, *, last: bool = False) -> None:
        try:
            await journal.append(self._first_line + records, last=last)
        except OSError:
            raise cannot_be_kept() from None
        self._first_line = b""


def _ending(outcome: Completion | AdapterError) -> str:
    """Return how a run ended, for the log, without any text of the agent."""
    if isinstance(outcome, Completion):
        return "ok" if outcome.ok else f"not ok ({outcome.hint or outcome.turn or outcome.status})"
    failure = outcome.hint or outcome.failure if isinstance(outcome, BackendError) else outcome.kind
    return "cancelled" if isinstance(outcome, RunCancelled) else f"failed ({failure})"
