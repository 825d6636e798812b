"""A run of a daemon as a `RunHandle`, and the backend that opens them (J9, J15)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import trio
from typing_extensions import override

from codex_adapter.client.connection import Connection
from codex_adapter.client.failures import gone, request_on_the_wire
from codex_adapter.errors import AdapterError, RunCancelled
from codex_adapter.events import AGENT_KIND, Completion, Event, SessionHandle
from codex_adapter.protocols.supervisor.wire import InitializeResult, StartResult
from codex_adapter.request import RunRequest
from codex_adapter.runtime.handle import OwnRun, RunHandle, carried, given
from codex_adapter.runtime.stream import EventStream, open_hand_off

__all__ = ["DaemonBackend"]

_WINDOW: Final = 256
"""Events of a run that may be under way or wait here: what a consumer that is slow may hold (J9)."""


class _RemoteRun(OwnRun):
    """One run of a daemon. It tells the daemon how many events more its consumer can take."""

    def __init__(self, connection: Connection, run_id: str, containment: str | None) -> None:
        self.containment = containment
        self._connection = connection
        self._run_id = run_id
        self._forwarder, self._events = open_hand_off()
        self._arrived: list[Event] = []
        self._news = trio.Event()
        self._session_id: str | None = None
        self._told: Completion | AdapterError | None = None
        self._outcome: Completion | AdapterError | None = None
        self._cancelled = False
        self._ended = trio.Event()

    async def start(self, request: Mapping[str, Any]) -> None:
        """Ask for it. Raises an `AdapterError` when it is refused; cancelled, it leaves nothing behind."""
        self._connection.listen(self._run_id, self)
        params = {"runId": self._run_id, "agentKind": AGENT_KIND, "request": request, "credit": _WINDOW}
        reply = self._connection.ask("run/start", params)
        try:
            await reply.of(StartResult)
        except AdapterError:
            self._connection.forget(self._run_id)
            raise
        except trio.Cancelled:
            self.abandon()
            with trio.CancelScope(shield=True), suppress(AdapterError):
                await reply.of(StartResult)
                await self.carry()
            raise

    def happened(self, event: Event) -> None:
        """As `Listener.happened`."""
        if isinstance(event.data, SessionHandle):
            self._session_id = event.data.session.id
        self._arrived.append(event)
        self._news.set()

    def completed(self, outcome: Completion | AdapterError) -> None:
        """As `Listener.completed`."""
        self._told = outcome
        self._news.set()

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
        self._tell("run/cancel")

    @override
    async def wait_ended(self) -> None:
        """As `OwnRun.wait_ended`."""
        await self._ended.wait()

    @override
    async def carry(self) -> None:
        """As `OwnRun.carry`."""
        with trio.CancelScope(shield=True):
            while self._told is None or self._arrived:
                await self._news.wait()
                self._news = trio.Event()
                await self._forward()
            self._forwarder.close()
            self._ended.set()

    async def _forward(self) -> None:
        while self._arrived:
            events, self._arrived = self._arrived, []
            self._forwarder.forward(events)
            await self._forwarder.taken.wait()
            if self._events.final.is_set():
                self._tell("run/detach")
            else:
                self._tell("run/credit", events=len(events))

    def _end(self, *, kill: bool) -> None:
        self._cancelled = True
        self._forwarder.close()
        self._events.discard()
        self._events.final.set()
        self._tell("run/cancel", kill=kill)

    def _tell(self, method: str, **params: Any) -> None:
        if self._told is None:
            self._connection.tell(method, {"runId": self._run_id, **params})


class DaemonBackend:
    """A daemon as a backend: any number of runs at once, those over its limit in its queue (J8, J15)."""

    def __init__(self, connection: Connection, told: InitializeResult) -> None:
        self._connection = connection
        self._told = told

    @property
    def agent_kind(self) -> str:
        """`codex`."""
        return AGENT_KIND

    @property
    def capabilities(self) -> frozenset[str]:
        """The capability ids of the daemon's backend (G3)."""
        return frozenset(self._told.capabilities.get(AGENT_KIND, ()))

    async def check(self, request: RunRequest) -> None:
        """As `Backend.check`; only the daemon can tell more."""
        request_on_the_wire(request)
        await trio.lowlevel.checkpoint()

    @asynccontextmanager
    async def open_run(self, request: RunRequest) -> AsyncIterator[RunHandle]:
        """As `open_run` of the package, the agent being the daemon's child.

        A run that has to wait for its turn is open all the same; what fails when it comes is raised by
        `wait_completed`.
        """
        run = _RemoteRun(self._connection, uuid.uuid4().hex, self._told.containment)
        await run.start(request_on_the_wire(request))
        async with carried(run) as handle:
            yield handle
