"""Execute additional methods of the daemon, whose calls may take long and may send notifications."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import msgspec
import trio

from codex_adapter.daemon.jsonrpc import RUN_REFUSED, Fault, Pending
from codex_adapter.daemon.run_slots import Slot, Slots
from codex_adapter.daemon.transport import SendQueue

__all__ = ["Service", "ServiceCalls"]

_MOST_AT_ONCE: Final = 8
"""The limit of concurrent calls of a method without an agent. Each call may start some short processes."""


class _Notification(msgspec.Struct, frozen=True, tag_field="jsonrpc", tag="2.0"):
    method: str
    params: object


class Service(NamedTuple):
    """One method. `perform` takes the params and the calls, and returns the result or raises `Fault`.

    `slot` is the kind of slot that a call waits for: a slot for agents, or a slot of this method. A call without a slot
    is executed immediately, before the next request is read, and also after `shutdown`. `name` returns the name with
    which `ServiceCalls.end` finds a call. Each member of `params` has a description for the message of a refusal.
    """

    params: type[msgspec.Struct]
    perform: Callable[[Any, ServiceCalls], Awaitable[object]]
    slot: Literal["agent", "method"] | None = "method"
    name: Callable[[Any], str] | None = None


class ServiceCalls:
    """The calls that have a slot or wait for one. `on_end` is called after each."""

    def __init__(self, agents: Slots, send_queue: SendQueue, on_end: Callable[[], object]) -> None:
        self._agents = agents
        self._others = defaultdict[Service, Slots](lambda: Slots(_MOST_AT_ONCE, queue=True))
        self._send_queue = send_queue
        self._on_end = on_end
        self._live: dict[trio.CancelScope, str | None] = {}

    def __bool__(self) -> bool:
        """Return whether there is a call."""
        return bool(self._live)

    def cancel(self) -> None:
        """Cancel all calls; each is answered (J10, J11)."""
        for scope in self._live:
            scope.cancel()

    def end(self, name: str) -> bool:
        """Cancel the calls of this name. Return whether any existed. Each call is answered when it has ended."""
        named = [scope for scope, its_name in self._live.items() if its_name == name]
        for scope in named:
            scope.cancel()
        return bool(named)

    async def notify(self, method: str, params: object) -> None:
        """Send a notification, at the pace of the supervisor."""
        # A cancelled call sends nothing more and ends, even if the supervisor does not read.
        await trio.lowlevel.checkpoint_if_cancelled()
        await self._send_queue.offer([_Notification(method, params)])

    def begin(self, service: Service, params: msgspec.Struct) -> Pending:
        """Claim a slot for a call, in order of arrival. Raise `Fault` if the queue is full. (J8)"""
        slot = (self._agents if service.slot == "agent" else self._others[service]).claim()
        if slot is None:
            raise Fault(RUN_REFUSED, "The limit of live runs is reached.", {"kind": "too_many_runs"})
        scope = trio.CancelScope()
        self._live[scope] = service.name(params) if service.name else None
        return Pending(partial(self._finish, service, params, slot, scope))

    async def _finish(self, service: Service, params: msgspec.Struct, slot: Slot, scope: trio.CancelScope) -> object:
        try:
            with scope:
                await slot.granted.wait()
                return await service.perform(params, self)
        finally:
            slot.release()
            del self._live[scope]
            self._on_end()
        raise Fault(RUN_REFUSED, "cancelled", {"kind": "cancelled"})
