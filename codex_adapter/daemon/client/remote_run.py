"""Provide a run of a daemon as a `RunHandle` (J9, J15)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import trio
from msgspec import Raw
from typing_extensions import override

from codex_adapter.core.notices import error_event
from codex_adapter.core.pipeline import number_events
from codex_adapter.core.state import MOST_OPEN_TOOLS, close_tools
from codex_adapter.daemon.client.connection import PATIENCE, Connection, Reply
from codex_adapter.daemon.client.errors import daemon_exited_error, error_of_record
from codex_adapter.errors import AdapterError, BackendError, RunCancelled
from codex_adapter.events import Completion, Event, SessionHandle, Tool, ToolCall
from codex_adapter.records import CompletedRecord, FailedRecord, Record
from codex_adapter.runtime.handle import OwnRun, completion_or_raise
from codex_adapter.runtime.stream import EventStream, open_hand_off

__all__ = ["RemoteRun"]

_WINDOW: Final = 256
"""The limit of events of a run that are in transit or wait here for a slow consumer (J9)."""


class RemoteRun(OwnRun):
    """One run of a daemon. It grants the daemon credit for the events that its consumer can receive. (J9)"""

    def __init__(self, connection: Connection, run_id: str, containment: str | None) -> None:
        self.containment = containment
        self._connection = connection
        self._run_id = run_id
        self._forwarder, self._events = open_hand_off()
        self._arrived: list[Event] = []
        self._next_seq = 0
        self._open_tools: dict[str, Tool] = {}
        self._changed = trio.Event()
        self._session_id: str | None = None
        self._received: Completion | AdapterError | None = None
        self._outcome: Completion | AdapterError | None = None
        self._cancelled = False
        self._ending = trio.CancelScope(shield=True)
        self._ended = trio.Event()

    async def start(self, request: Raw) -> None:
        """Request the run. Raise an `AdapterError` if it is refused. If cancelled, leave no run."""
        self._connection.listen(self._run_id, self.on_record, self.on_disconnect)
        agent_kind = self._connection.agent_kind
        params = {"runId": self._run_id, "agentKind": agent_kind, "request": request, "credit": _WINDOW}
        reply = self._connection.request("run/start", params)
        try:
            await reply.result(Raw)
        except AdapterError:
            self._connection.forget(self._run_id)
            raise
        except BaseException:
            self.abandon()
            with trio.CancelScope(shield=True):
                await self._withdraw(reply)
            raise

    def on_record(self, record: Record) -> None:
        """Receive the next record of the run."""
        match record:
            case Event():
                self._on_event(record)
            case CompletedRecord(completion=completion):
                self._session_id = completion.session_id
                self._on_end(completion)
            case FailedRecord(session_id=session_id):
                self._session_id = session_id or self._session_id
                self._on_end(error_of_record(record, self._connection.agent_kind))

    def on_disconnect(self) -> None:
        """Fail the run, because the daemon has exited. The last events are those of any failure. (F4, M9)"""
        agent_kind = self._connection.agent_kind
        error = daemon_exited_error(agent_kind)
        last = [*close_tools(agent_kind, self._open_tools), error_event(agent_kind, str(error))]
        for event in number_events(last, self._next_seq):
            self._on_event(event)
        self._on_end(error)

    @property
    @override
    def events(self) -> EventStream:
        """The events of the run; see `RunHandle.events`."""
        return self._events

    @property
    @override
    def session_id(self) -> str | None:
        """The session id; see `RunHandle.session_id`."""
        return self._session_id

    @override
    async def wait_completed(self) -> Completion:
        """Implement `RunHandle.wait_completed`."""
        await self._ended.wait()
        await self._events.final.wait()
        if self._outcome is None:
            outcome = self._received or daemon_exited_error(self._connection.agent_kind)
            self._outcome = _cancelled(outcome) if self._cancelled else outcome
            if isinstance(self._outcome, BackendError):
                self._outcome.session_id = self._session_id
        return completion_or_raise(self._outcome)

    @override
    def cancel(self) -> None:
        """Implement `RunHandle.cancel`."""
        self._end(kill=False)

    @override
    def kill(self) -> None:
        """Implement `RunHandle.kill`."""
        self._end(kill=True)

    @override
    def abandon(self) -> None:
        """Implement `OwnRun.abandon`."""
        self._events.leave()
        self._request_end(kill=False)

    @override
    async def wait_ended(self) -> None:
        """Implement `OwnRun.wait_ended`."""
        await self._ended.wait()

    @override
    async def drive(self) -> None:
        """Implement `OwnRun.drive`."""
        with trio.CancelScope(shield=True):
            with self._ending:
                await self._forward_all()
            if self._received is None:
                await self._abort()
            self._forwarder.close()
            self._ended.set()

    def _on_event(self, event: Event) -> None:
        match event.data:
            case SessionHandle(session=session):
                self._session_id = session.id
            case ToolCall(tool=tool):
                self._note(tool, is_open=event.kind == "tool_call")
        self._next_seq = event.seq + 1
        self._arrived.append(event)
        self._changed.set()

    def _on_end(self, outcome: Completion | AdapterError) -> None:
        self._received = outcome
        self._changed.set()

    def _note(self, tool: Tool, *, is_open: bool) -> None:
        call = str(tool.backend_item_id)
        if not is_open:
            self._open_tools.pop(call, None)
        elif len(self._open_tools) < MOST_OPEN_TOOLS or call in self._open_tools:
            self._open_tools[call] = tool

    async def _forward_all(self) -> None:
        owed = 0
        while self._received is None or self._arrived:
            await self._changed.wait()
            self._changed = trio.Event()
            while self._arrived:
                events, self._arrived = self._arrived, []
                self._forwarder.forward(events)
                await self._forwarder.taken.wait()
                owed += len(events)
            if self._events.final.is_set() and self._session_id is not None:
                self._notify("run/detach")
            elif owed >= _WINDOW // 2:
                self._notify("run/credit", events=owed)
                owed = 0

    async def _withdraw(self, reply: Reply) -> None:
        """Wait for the end of a run that was cancelled before its request was answered."""
        with suppress(AdapterError):
            with trio.move_on_after(PATIENCE) as waiting:
                await reply.result(Raw)
            if waiting.cancelled_caught:
                await self._abort()
            await self.drive()
        self._connection.forget(self._run_id)

    async def _abort(self) -> None:
        """Kill a daemon that does not end the run, because no run may outlive its block (K4)."""
        self._connection.abort()
        while self._received is None:
            await self._changed.wait()
            self._changed = trio.Event()

    def _end(self, *, kill: bool) -> None:
        self._cancelled = True
        self._forwarder.close()
        self._events.discard()
        self._events.final.set()
        self._request_end(kill=kill)

    def _request_end(self, *, kill: bool) -> None:
        self._ending.deadline = min(self._ending.deadline, trio.current_time() + PATIENCE)
        self._notify("run/cancel", kill=kill)

    def _notify(self, method: str, **params: Any) -> None:
        if self._received is None:
            self._connection.notify(method, {"runId": self._run_id, **params})


def _cancelled(outcome: Completion | AdapterError) -> RunCancelled:
    """Return the outcome of a run that this process cancelled, with what the run has used (F6, F15)."""
    cancelled = RunCancelled("cancelled")
    if isinstance(outcome, Completion | BackendError):
        cancelled.run_usage, cancelled.cost_usd = outcome.run_usage, outcome.cost_usd
    return cancelled
