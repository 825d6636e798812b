"""Execute the methods of the protocol on the live runs, and shut down the daemon (J2, J3, J8, J10, J11)."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import trio

from codex_adapter import AdapterError, Gateway, RunRequest
from codex_adapter.daemon import messages as wire
from codex_adapter.daemon.hosted_run import HostedRun
from codex_adapter.daemon.journal import Journal
from codex_adapter.daemon.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_INITIALIZED,
    RUN_REFUSED,
    Call,
    Fault,
    Pending,
)
from codex_adapter.daemon.params import read_params, read_request, refusal_of
from codex_adapter.daemon.run_slots import Slots
from codex_adapter.daemon.services import Service, ServiceCalls
from codex_adapter.daemon.transport import SendQueue, Transport

__all__ = ["Daemon", "Settings"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of a daemon (C9).

    `containment` returns the level of containment of runs here. `notify` is called with each state of the daemon.
    `services` are additional methods by name. (J16)
    """

    server: wire.ServerInfo
    limits: wire.Limits
    containment: Callable[[], Awaitable[str | None]]
    journal: Journal | None
    drain_on_eof: bool
    notify: Callable[[str], None]
    services: Mapping[str, Service] = {}


class Daemon:
    """The runs of one supervisor, as tasks in `nursery`.

    `reading` is the scope in which requests are read. It is cancelled to stop the reading.
    """

    def __init__(self, gateway: Gateway, settings: Settings, transport: Transport, nursery: trio.Nursery) -> None:
        self.reading = trio.CancelScope()
        self.send_queue = SendQueue(transport, nursery, self.supervisor_left)
        self._gateway = gateway
        self._settings = settings
        self._nursery = nursery
        self._slots = Slots(settings.limits.max_runs, queue=settings.limits.queue)
        self._runs: dict[str, HostedRun] = {}
        self._ended = trio.lowlevel.ParkingLot()
        self._calls = ServiceCalls(self._slots, self.send_queue, self._ended.unpark_all)
        self._initialized = self._stopping = False
        self._handlers: dict[str, Callable[[Any], Awaitable[object]]] = {
            "initialize": self._initialize,
            "run/start": self._start,
            "run/cancel": self._cancel,
            "run/detach": self._detach,
            "run/credit": self._grant,
            "run/list": self._list,
            "shutdown": self._shut_down,
            "exit": self._exit,
        }
        if settings.journal is not None:
            self._handlers["run/events"] = partial(_read_events, settings.journal)

    async def execute(self, call: Call) -> object:
        """Return the result of a call, or a `Pending` if further calls are executed meanwhile. Raise `Fault`."""
        if call.fault is not None:
            raise call.fault
        first = "exit" if call.id is None else "initialize"
        if not self._initialized and call.method not in (first, "exit"):
            raise Fault(NOT_INITIALIZED, "The first request must be initialize.")
        if (service := self._settings.services.get(call.method)) is not None:
            return await self._serve(service, read_params(call.params, service.params))
        if call.method not in self._handlers:
            methods = ", ".join([*self._handlers, *self._settings.services])
            no_journal = "The daemon has no journal. Start it with --journal DIR."
            problem = no_journal if call.method in wire.METHODS else "The method does not exist."
            raise Fault(METHOD_NOT_FOUND, f"{problem} The methods are {methods}")
        return await self._handlers[call.method](read_params(call.params, wire.METHODS[call.method].params))

    def announce(self, run_id: str) -> None:
        """Allow messages of this run, after the answer that accepts it was sent (J4)."""
        self._runs[run_id].announce()

    def supervisor_left(self) -> None:
        """Cancel or finish the runs: the supervisor has closed its end of a pipe (J10)."""
        if self._settings.drain_on_eof:
            self._stop()
            self.reading.cancel()
            for run in self._runs.values():
                run.grant(None)
        else:
            self.cancel()

    def cancel(self) -> None:
        """End all runs, and then the daemon (J11)."""
        self._cancel_runs()
        self.reading.cancel()

    def kill(self) -> None:
        """End all runs without asking their agents first, and then the daemon (K4)."""
        self.cancel()
        for run in self._runs.values():
            run.kill()

    async def _initialize(self, _: wire.InitializeParams) -> wire.InitializeResult:
        if self._initialized:
            raise Fault(INVALID_REQUEST, "The daemon is already initialized.")
        self._initialized = True
        return wire.InitializeResult(
            server_info=self._settings.server,
            capabilities={kind: sorted(it.capabilities) for kind, it in sorted(self._gateway.backends.items())},
            limits=self._settings.limits,
            containment=await self._settings.containment(),
            journal=self._settings.journal is not None,
        )

    async def _serve(self, service: Service, params: msgspec.Struct) -> object:
        if service.slot is None:
            return await service.perform(params, self._calls)
        # While answers cannot be written, no further requests are read (J10).
        await self.send_queue.offer([])
        self._refuse_when_stopping()
        return self._calls.begin(service, params)

    async def _start(self, params: wire.StartParams) -> Pending:
        self._refuse_when_stopping()
        run_id = params.run_id or uuid.uuid4().hex
        if run_id in self._runs:
            raise Fault(INVALID_PARAMS, "runId is the id of a live run. Pass another one, or none.")
        try:
            request = read_request(params.request)
            # Check the kind first, so that `run/list` never shows a refused kind.
            self._gateway.backend_of(params.agent_kind)
        except AdapterError as error:
            raise refusal_of(error) from None
        slot = self._slots.claim()
        if slot is None:
            raise Fault(RUN_REFUSED, "The limit of live runs is reached.", {"kind": "too_many_runs"})
        run = HostedRun(
            run_id,
            params.agent_kind,
            slot=slot,
            send_queue=self.send_queue,
            journal=None if self._settings.journal is None else self._settings.journal.file(run_id),
            credit=params.credit,
        )
        self._runs[run_id] = run
        self._nursery.start_soon(self._host, run, request)
        return Pending(partial(_accept, run))

    async def _host(self, run: HostedRun, request: RunRequest) -> None:
        await run.run(self._gateway, request)
        del self._runs[run.run_id]
        self._ended.unpark_all()

    async def _cancel(self, params: wire.CancelParams) -> wire.Affected:
        return self._affect(params.run_id, HostedRun.kill if params.kill else HostedRun.cancel)

    async def _detach(self, params: wire.RunParams) -> wire.Affected:
        return self._affect(params.run_id, HostedRun.detach)

    async def _grant(self, params: wire.CreditParams) -> wire.Affected:
        return self._affect(params.run_id, lambda run: run.grant(params.events))

    def _affect(self, run_id: str, change: Callable[[HostedRun], None]) -> wire.Affected:
        run = self._runs.get(run_id)
        if run is not None:
            change(run)
        return wire.Affected(known=run is not None)

    async def _list(self, _: wire.Nothing) -> wire.ListResult:
        return wire.ListResult(runs=[run.listed() for run in self._runs.values()])

    async def _shut_down(self, params: wire.ShutdownParams) -> Pending:
        if params.mode == "cancel":
            self._cancel_runs()
        self._stop()
        return Pending(self._drain)

    async def _drain(self) -> wire.Nothing:
        while self._runs or self._calls:
            await self._ended.park()
        return wire.Nothing()

    async def _exit(self, _: wire.Nothing) -> wire.Nothing:
        self.cancel()
        return wire.Nothing()

    def _cancel_runs(self) -> None:
        self._stop()
        for run in self._runs.values():
            run.cancel()
        self._calls.cancel()

    def _refuse_when_stopping(self) -> None:
        if self._stopping:
            raise Fault(RUN_REFUSED, "The daemon is shutting down.", {"kind": "shutting_down"})

    def _stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            self._settings.notify("STOPPING=1")


async def _accept(run: HostedRun) -> wire.StartResult:
    """Wait until a run is accepted. Raise `Fault` if it is refused (J8)."""
    await run.settled.wait()
    if run.is_known:
        raise Fault(INVALID_PARAMS, "runId is the id of a run in the journal. Pass another one, or none.")
    if run.refusal is not None:
        raise refusal_of(run.refusal)
    return wire.StartResult(run_id=run.run_id)


async def _read_events(journal: Journal, params: wire.EventsParams) -> wire.EventsResult:
    try:
        page = await journal.read(params.run_id, params.from_seq)
    except FileNotFoundError:
        raise Fault(INVALID_PARAMS, "The journal has no run with this runId.") from None
    except OSError:
        raise Fault(INVALID_PARAMS, "The journal of this run cannot be read.") from None
    return wire.EventsResult(
        run_id=params.run_id,
        events=page.records,
        completion=page.completion,
        next_seq=page.next_seq,
        more=page.more,
        live=page.live,
    )
