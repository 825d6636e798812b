"""Methods that others give to the daemon: calls that may take long, and may tell of what happens until they end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import trio

from codex_adapter.protocols.supervisor.jsonrpc import RUN_REFUSED, Fault
from codex_adapter.protocols.supervisor.outbox import Outbox
from codex_adapter.protocols.supervisor.slots import Slots

__all__ = ["Notification", "Notify", "Service", "ServiceCalls"]

Notify: TypeAlias = Callable[[str, object], Awaitable[None]]
"""Sends a notification of this method and these params, and returns when the supervisor has had its turn to read it."""

_MOST_AT_ONCE: Final = 8
"""Calls without an agent; each may start some processes for a moment."""


class Notification(msgspec.Struct, frozen=True, tag_field="jsonrpc", tag="2.0"):
    """What the supervisor is told without having asked."""

    method: str
    params: object


class Service(NamedTuple):
    """One method. `perform` gets the params, and gives the result; what it refuses it raises as `Fault`.

    With `has_agent` a call takes one of the places for agents. The members of `params` have descriptions, by which
    they are refused.
    """

    params: type[msgspec.Struct]
    perform: Callable[[Any, Notify], Awaitable[object]]
    has_agent: bool = False


class ServiceCalls:
    """The calls under way; `ended` is called after each."""

    def __init__(self, agents: Slots, outbox: Outbox, ended: Callable[[], object]) -> None:
        self._agents = agents
        self._others = Slots(_MOST_AT_ONCE, queue=True)
        self._outbox = outbox
        self._ended = ended
        self._live: set[trio.CancelScope] = set()

    @property
    def live(self) -> bool:
        """Whether there are some."""
        return bool(self._live)

    def cancel(self) -> None:
        """End all of them; each is answered (J10, J11)."""
        for scope in self._live:
            scope.cancel()

    async def carry_out(self, service: Service, params: msgspec.Struct, taken_up: Callable[[], None]) -> object:
        """The result of a call, first come, first served. Raises `Fault`, also for a call that was cancelled (J8)."""
        slot = (self._agents if service.has_agent else self._others).claim()
        if slot is None:
            raise Fault(RUN_REFUSED, "as many runs are live as may be", {"kind": "too_many_runs"})
        scope = trio.CancelScope()
        self._live.add(scope)
        try:
            with scope:
                # While answers cannot be written, no further requests are read (J10).
                await self._outbox.send([])
                taken_up()
                await slot.granted.wait()
                return await service.perform(params, self._notify)
        finally:
            slot.release()
            self._live.remove(scope)
            self._ended()
        raise Fault(RUN_REFUSED, "cancelled", {"kind": "cancelled"})

    async def _notify(self, method: str, params: object) -> None:
        await self._outbox.send([Notification(method, params)])
