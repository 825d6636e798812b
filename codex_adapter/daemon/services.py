"""Methods that others give to the daemon: calls that may take long, and may tell of what happens until they end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import trio

from codex_adapter.daemon.jsonrpc import RUN_REFUSED, Fault
from codex_adapter.daemon.run_slots import Slots
from codex_adapter.daemon.send_queue import Outbox

__all__ = ["Ending", "Notification", "Notify", "Service", "ServiceCalls"]

Notify: TypeAlias = Callable[[str, object], Awaitable[None]]
"""Sends a notification of this method and these params, and returns when the supervisor has had its turn to read it."""

_MOST_AT_ONCE: Final = 8
"""Calls of one method without an agent; each may start some processes for a moment."""


class Notification(msgspec.Struct, frozen=True, tag_field="jsonrpc", tag="2.0"):
    """What the supervisor is told without having asked."""

    method: str
    params: object


class Service(NamedTuple):
    """One method. `perform` gets the params, and gives the result; what it refuses it raises as `Fault`.

    With `has_agent` a call takes one of the places for agents. `named` gives a call the name by which it can be ended;
    several may have one. The members of `params` have descriptions, by which they are refused.
    """

    params: type[msgspec.Struct]
    perform: Callable[[Any, Notify], Awaitable[object]]
    has_agent: bool = False
    named: Callable[[Any], str] | None = None


class Ending(NamedTuple):
    """A method that ends the calls of a name; it needs no place, and is there after `shutdown` too."""

    params: type[msgspec.Struct]
    named: Callable[[Any], str]


class ServiceCalls:
    """The calls under way; `ended` is called after each."""

    def __init__(self, agents: Slots, outbox: Outbox, ended: Callable[[], object]) -> None:
        self._agents = agents
        self._others = defaultdict[Service, Slots](lambda: Slots(_MOST_AT_ONCE, queue=True))
        self._outbox = outbox
        self._ended = ended
        self._live: dict[trio.CancelScope, str | None] = {}

    @property
    def live(self) -> bool:
        """Whether there are some."""
        return bool(self._live)

    def cancel(self) -> None:
        """End all of them; each is answered (J10, J11)."""
        for scope in self._live:
            scope.cancel()

    def end(self, name: str) -> bool:
        """End those of this name, and tell whether there were some; each is answered once nothing of it is left."""
        named = [scope for scope, its_name in self._live.items() if its_name == name]
        for scope in named:
            scope.cancel()
        return bool(named)

    async def carry_out(self, service: Service, params: msgspec.Struct, taken_up: Callable[[], None]) -> object:
        """The result of a call, first come, first served. Raises `Fault`, also for a call that was cancelled (J8)."""
        slot = (self._agents if service.has_agent else self._others[service]).claim()
        if slot is None:
            raise Fault(RUN_REFUSED, "as many runs are live as may be", {"kind": "too_many_runs"})
        scope = trio.CancelScope()
        self._live[scope] = service.named(params) if service.named else None
        try:
            with scope:
                # While answers cannot be written, no further requests are read (J10).
                await self._outbox.offer([])
                taken_up()
                await slot.granted.wait()
                return await service.perform(params, self._notify)
        finally:
            slot.release()
            del self._live[scope]
            self._ended()
        raise Fault(RUN_REFUSED, "cancelled", {"kind": "cancelled"})

    async def _notify(self, method: str, params: object) -> None:
        # What was cancelled has nothing more to say, however much of it is there, and ends before anybody reads.
        await trio.lowlevel.checkpoint_if_cancelled()
        await self._outbox.offer([Notification(method, params)])
