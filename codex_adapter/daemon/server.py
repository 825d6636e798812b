"""What the methods do: the live runs, and how the daemon comes to its end (J2, J3, J8, J10, J11)."""

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
)
from codex_adapter.daemon.params import read_params
from codex_adapter.daemon.run_requests import read_request, refused
from codex_adapter.daemon.run_slots import Slots
from codex_adapter.daemon.send_queue import Outbox
from codex_adapter.daemon.services import Ending, Service, ServiceCalls
from codex_adapter.daemon.transport import Wires

__all__ = ["Daemon", "Settings"]

_Handler = Callable[[Any, Callable[[], None]], Awaitable[Any]]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a daemon is, and how it deals with its supervisor (C9).

    `containment` finds out at which level runs are held; `notify` is told how the daemon stands, as J16 says it.
    `services` are further methods by their names.
    """

    server: wire.ServerInfo
    limits: wire.Limits
    containment: Callable[[], Awaitable[str | None]]
    journal: Journal | None
    drain_on_eof: bool
    notify: Callable[[str], None]
    services: Mapping[str, Service | Ending] = {}


class Daemon:
    """The runs of one supervisor, as tasks in `nursery`.

    `leaving` is cancelled once no more requests are to be read.
    """

    def __init__(self, gateway: Gateway, settings: Settings, wires: Wires, nursery: trio.Nursery) -> None:
        self.leaving = trio.CancelScope()
        self.outbox = Outbox(wires, nursery, self.supervisor_gone)
        self._gateway = gateway
        self._settings = settings
        self._nursery = nursery
        self._slots = Slots(settings.limits.max_runs, queue=settings.limits.queue)
        self._runs: dict[str, HostedRun] = {}
        self._run_ended = trio.lowlevel.ParkingLot()
        self._calls = ServiceCalls(self._slots, self.outbox, self._run_ended.unpark_all)
        self._initialized = self._stopping = False
        self._handlers: dict[str, _Handler] = {
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
            self._handlers["run/events"] = partial(_events, settings.journal)

    async def carry_out(self, call: Call, taken_up: Callable[[], None]) -> Any:
        """The result of a call; `taken_up` is called when the next one may be, and the result takes longer.

        Raises `Fault`.
        """
        if call.fault is not None:
            raise call.fault
        first = "exit" if call.id is None else "initialize"
        if not self._initialized and call.method not in (first, "exit"):
            raise Fault(NOT_INITIALIZED, "the first request must be initialize")
        if (service := self._settings.services.get(call.method)) is not None:
            return await self._serve(service, read_params(call.params, service.params), taken_up)
        if call.method not in self._handlers:
            missing = "journal; start the daemon with --journal DIR" if call.method in wire.METHODS else "such method"
            names = ", ".join([*self._handlers, *self._settings.services])
            raise Fault(METHOD_NOT_FOUND, f"there is no {missing}; there are {names}")
        params = read_params(call.params, wire.METHODS[call.method].params)
        return await self._handlers[call.method](params, taken_up)

    def announce(self, run_id: str) -> None:
        """The supervisor has been told that this run is accepted (J4)."""
        self._runs[run_id].announce()

    def supervisor_gone(self) -> None:
        """Nobody will ask any more, or nobody reads (J10)."""
        if self._settings.drain_on_eof:
            self._stop()
            self.leaving.cancel()
            for run in self._runs.values():
                run.grant(None)
        else:
            self.cancel()

    def cancel(self) -> None:
        """End all runs, and then the daemon (J11)."""
        self._cancel_runs()
        self.leaving.cancel()

    def kill(self) -> None:
        """As `cancel`, but no agent is asked first (K4)."""
        self.cancel()
        for run in self._runs.values():
            run.kill()

    async def _initialize(self, params: wire.InitializeParams, _: Callable[[], None]) -> wire.InitializeResult:
        if self._initialized:
            raise Fault(INVALID_REQUEST, "initialize was there already")
        self._initialized = True
        return wire.InitializeResult(
            server_info=self._settings.server,
            capabilities={kind: sorted(it.capabilities) for kind, it in sorted(self._gateway.backends.items())},
            limits=self._settings.limits,
            containment=await self._settings.containment(),
            journal=self._settings.journal is not None,
        )

    async def _serve(self, service: Service | Ending, params: msgspec.Struct, taken_up: Callable[[], None]) -> object:
        if isinstance(service, Ending):
            return wire.Affected(known=self._calls.end(service.named(params)))
        self._refuse_when_stopping()
        return await self._calls.carry_out(service, params, taken_up)

    async def _start(self, params: wire.StartParams, taken_up: Callable[[], None]) -> wire.StartResult:
        self._refuse_when_stopping()
        run_id = params.run_id or uuid.uuid4().hex
        if run_id in self._runs:
            raise Fault(INVALID_PARAMS, "runId is that of a live run; give another one, or none")
        try:
            request = read_request(params.request)
        except AdapterError as error:
            raise refused(error) from None
        slot = self._slots.claim()
        if slot is None:
            raise Fault(RUN_REFUSED, "as many runs are live as may be", {"kind": "too_many_runs"})
        journal = None if self._settings.journal is None else self._settings.journal.file(run_id)
        run = HostedRun(run_id, params.agent_kind, slot=slot, outbox=self.outbox, journal=journal, credit=params.credit)
        self._runs[run_id] = run
        self._nursery.start_soon(self._carry, run, request)
        taken_up()
        await run.settled.wait()
        if run.is_known:
            raise Fault(INVALID_PARAMS, "runId is that of a run in the journal; give another one, or none")
        if run.refusal is not None:
            raise refused(run.refusal)
        return wire.StartResult(run_id=run_id)

    async def _carry(self, run: HostedRun, request: RunRequest) -> None:
        await run.carry(self._gateway, request)
        del self._runs[run.run_id]
        self._run_ended.unpark_all()

    async def _cancel(self, params: wire.CancelParams, _: Callable[[], None]) -> wire.Affected:
        return self._affect(params.run_id, HostedRun.kill if params.kill else HostedRun.cancel)

    async def _detach(self, params: wire.RunParams, _: Callable[[], None]) -> wire.Affected:
        return self._affect(params.run_id, HostedRun.detach)

    async def _grant(self, params: wire.CreditParams, _: Callable[[], None]) -> wire.Affected:
        return self._affect(params.run_id, lambda run: run.grant(params.events))

    def _affect(self, run_id: str, change: Callable[[HostedRun], None]) -> wire.Affected:
        run = self._runs.get(run_id)
        if run is not None:
            change(run)
        return wire.Affected(known=run is not None)

    async def _list(self, _params: wire.Nothing, _: Callable[[], None]) -> wire.ListResult:
        return wire.ListResult(runs=[run.listed() for run in self._runs.values()])

    async def _shut_down(self, params: wire.ShutdownParams, taken_up: Callable[[], None]) -> wire.Nothing:
        if params.mode == "cancel":
            self._cancel_runs()
        self._stop()
        taken_up()
        while self._runs or self._calls.live:
            await self._run_ended.park()
        return wire.Nothing()

    async def _exit(self, _params: wire.Nothing, _: Callable[[], None]) -> wire.Nothing:
        self.cancel()
        return wire.Nothing()

    def _cancel_runs(self) -> None:
        self._stop()
        for run in self._runs.values():
            run.cancel()
        self._calls.cancel()

    def _refuse_when_stopping(self) -> None:
        if self._stopping:
            raise Fault(RUN_REFUSED, "the daemon is shutting down", {"kind": "shutting_down"})

    def _stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            self._settings.notify("STOPPING=1")


async def _events(journal: Journal, params: wire.EventsParams, _: Callable[[], None]) -> wire.EventsResult:
    try:
        page = await journal.read(params.run_id, params.from_seq)
    except FileNotFoundError:
        raise Fault(INVALID_PARAMS, "runId is that of no run in the journal") from None
    except OSError:
        raise Fault(INVALID_PARAMS, "the journal of this run cannot be read") from None
    return wire.EventsResult(
        run_id=params.run_id,
        events=page.records,
        completion=page.completion,
        next_seq=page.next_seq,
        more=page.more,
        live=page.live,
    )
