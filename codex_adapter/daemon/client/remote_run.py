"""A run of a daemon as a `RunHandle` (J9, J15)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import trio
from msgspec import Raw
from typing_extensions import override

from codex_adapter.core.notices import error_event
from codex_adapter.core.pipeline import numbered
from codex_adapter.core.state import MOST_OPEN_TOOLS, close_tools
from codex_adapter.daemon.client.connection import PATIENCE, Connection, Reply
from codex_adapter.daemon.client.errors import gone
from codex_adapter.errors import DEFAULT_AGENT, AdapterError, RunCancelled
from codex_adapter.events import Completion, Event, SessionHandle, Tool, ToolCall
from codex_adapter.runtime.handle import OwnRun, given
from codex_adapter.runtime.stream import EventStream, open_hand_off

__all__ = ["RemoteRun"]

_WINDOW: Final = 256
"""Events of a run that may be under way or wait here: what a consumer that is slow may hold (J9)."""


class RemoteRun(OwnRun):
    """One run of a daemon. It tells the daemon how many events more its consumer can take."""

    def __init__(self, connection: Connection, run_id: str, containment: str | None) -> None:
        self.containment = containment
        self._connection = connection
        self._run_id = run_id
        self._forwarder, self._events = open_hand_off()
        self._arrived: list[Event] = []
        self._next_seq = 0
        self._open_tools: dict[str, Tool] = {}
        self._news = trio.Event()
        self._session_id: str | None = None
        self._told: Completion | AdapterError | None = None
        self._outcome: Completion | AdapterError | None = None
        self._cancelled = False
        self._ending = trio.CancelScope(shield=True)
        self._ended = trio.Event()

    async def start(self, request: Raw) -> None:
        """Ask for it. Raises an `AdapterError` when it is refused; cancelled, it leaves nothing behind."""
        self._connection.listen(self._run_id, self)
        params = {"runId": self._run_id, "agentKind": DEFAULT_AGENT, "request": request, "credit": _WINDOW}
        reply = self._connection.ask("run/start", params)
        try:
            await reply.of(Raw)
        except AdapterError:
            self._connection.forget(self._run_id)
            raise
        except BaseException:
            self.abandon()
            with trio.CancelScope(shield=True):
                await self._withdraw(reply)
            raise

    def happened(self, event: Event) -> None:
        """As `Listener.happened`."""
        match event.data:
            case SessionHandle(session=session):
                self._session_id = session.id
            case ToolCall(tool=tool):
                self._note(tool, is_open=event.kind == "tool_call")
        self._next_seq = event.seq + 1
        self._arrived.append(event)
        self._news.set()

    def completed(self, outcome: Completion | AdapterError) -> None:
        """As `Listener.completed`."""
        if isinstance(outcome, Completion):
            self._session_id = outcome.session_id
        self._told = outcome
        self._news.set()

    def lost(self) -> None:
        """As `Listener.lost`; where the events are open, the last of them are as those of any failure (F4, M9)."""
        error = gone()
        last = [*close_tools(DEFAULT_AGENT, self._open_tools), error_event(DEFAULT_AGENT, str(error))]
        for event in numbered(last, self._next_seq):
            self.happened(event)
        self.completed(error)

    @property
    @override
    def events(self) -> EventStream:
        """As `RunHandle.events`."""
        return self._events

    @property
    @override
    def session_id(self) -> str | None:
        """As `RunHandle.session_id`."""
        return self._session_id

    @override
    async def wait_completed(self) -> Completion:
        """As `RunHandle.wait_completed`."""
        await self._ended.wait()
        await self._events.final.wait()
        if self._outcome is None:
            self._outcome = RunCancelled("cancelled") if self._cancelled else self._told
        return given(self._outcome or gone())

    @override
    def cancel(self) -> None:
        """As `RunHandle.cancel`."""
        self._end(kill=False)

    @override
    def kill(self) -> None:
        """As `RunHandle.kill`."""
        self._end(kill=True)

    @override
    def abandon(self) -> None:
        """As `OwnRun.abandon`."""
        self._events.leave()
        self._ask_to_end(kill=False)

    @override
    async def wait_ended(self) -> None:
        """As `OwnRun.wait_ended`."""
        await self._ended.wait()

    @override
    async def carry(self) -> None:
        """As `OwnRun.carry`."""
        with trio.CancelScope(shield=True):
            with self._ending:
                await self._forward_all()
            if self._told is None:
                await self._give_up()
            self._forwarder.close()
            self._ended.set()

    def _note(self, tool: Tool, *, is_open: bool) -> None:
        call = str(tool.backend_item_id)
        if not is_open:
            self._open_tools.pop(call, None)
        elif len(self._open_tools) < MOST_OPEN_TOOLS or call in self._open_tools:
            self._open_tools[call] = tool

    async def _forward_all(self) -> None:
        owed = 0
        while self._told is None or self._arrived:
            await self._news.wait()
            self._news = trio.Event()
            while self._arrived:
                events, self._arrived = self._arrived, []
                self._forwarder.forward(events)
                await self._forwarder.taken.wait()
                owed += len(events)
            if self._events.final.is_set() and self._session_id is not None:
                self._tell("run/detach")
            elif owed >= _WINDOW // 2:
                self._tell("run/credit", events=owed)
                owed = 0

    async def _withdraw(self, reply: Reply) -> None:
        """Nobody waits for the answer any more: see the run to its end, if it comes to be one."""
        with suppress(AdapterError):
            with trio.move_on_after(PATIENCE) as waiting:
                await reply.of(Raw)
            if waiting.cancelled_caught:
                await self._give_up()
            await self.carry()
        self._connection.forget(self._run_id)

    async def _give_up(self) -> None:
        """A run must be over when it is left, also with a daemon that says nothing (K4)."""
        self._connection.give_up()
        while self._told is None:
            await self._news.wait()
            self._news = trio.Event()

    def _end(self, *, kill: bool) -> None:
        self._cancelled = True
        self._forwarder.close()
        self._events.discard()
        self._events.final.set()
        self._ask_to_end(kill=kill)

    def _ask_to_end(self, *, kill: bool) -> None:
        self._ending.deadline = min(self._ending.deadline, trio.current_time() + PATIENCE)
        self._tell("run/cancel", kill=kill)

    def _tell(self, method: str, **params: Any) -> None:
        if self._told is None:
            self._connection.tell(method, {"runId": self._run_id, **params})
