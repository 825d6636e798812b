"""`turns/...` among the methods of `codex-adapter serve`: turns for programs in other languages (U12)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from codex_adapter import CodexConfig
from codex_adapter.cli.complaints import UsageError
from codex_adapter.cli.turn_client import open_client
from codex_adapter.protocols.supervisor.jsonrpc import METHOD_NOT_FOUND, RUN_REFUSED, Fault
from codex_adapter.protocols.supervisor.services import Notify, Service
from codex_adapter.protocols.supervisor.wire import Method, Nothing
from codex_adapter.protocols.turns.wire import (
    AgentEvent,
    DescribeRequest,
    DescribeResponse,
    HarnessCapabilities,
    ResolveRequest,
    ResolveResponse,
    RunTurnRequest,
    RunTurnResponse,
    SessionCallbacks,
)

if TYPE_CHECKING:
    from codex_adapter.protocols.turns.client import AgentSpacesClient

__all__ = ["TURN_METHODS", "TurnEventParams", "turn_services"]

TURN_METHODS: Final[Mapping[str, Method]] = {
    "turns/run": Method(RunTurnRequest, RunTurnResponse),
    "turns/resolve": Method(ResolveRequest, ResolveResponse),
    "turns/describe": Method(DescribeRequest, DescribeResponse),
    "turns/capabilities": Method(Nothing, HarnessCapabilities),
}


class TurnEventParams(msgspec.Struct, frozen=True, rename="camel"):
    """One event of a turn."""

    external_run_id: str
    event: AgentEvent


def turn_services(config: CodexConfig) -> dict[str, Service]:
    """The methods of a client whose harness runs the CLI so, by their names (U12).

    What it takes is loaded by the first call: most daemons never get one.
    """
    methods = _Methods(config)
    performing: dict[str, Callable[[Any, Notify], Awaitable[object]]] = {
        "turns/run": methods.run,
        "turns/resolve": methods.resolve,
        "turns/describe": methods.describe,
        "turns/capabilities": methods.capabilities,
    }
    return {
        name: Service(method.params, performing[name], has_agent=name == "turns/run")
        for name, method in TURN_METHODS.items()
    }


class _Methods:
    """What each of them does."""

    def __init__(self, config: CodexConfig) -> None:
        self._config = config

    @cached_property
    def _client(self) -> AgentSpacesClient:
        try:
            return open_client(self._config)
        except UsageError as error:
            raise Fault(METHOD_NOT_FOUND, str(error)) from None

    async def run(self, request: RunTurnRequest, notify: Notify) -> RunTurnResponse:
        async def tell(event: AgentEvent) -> None:
            await notify("turns/event", TurnEventParams(request.external_run_id, event))

        return await self._client.run_turn(request, SessionCallbacks(tell))

    async def resolve(self, request: ResolveRequest, _: Notify) -> ResolveResponse:
        return await self._client.resolve(request)

    async def describe(self, request: DescribeRequest, _: Notify) -> DescribeResponse:
        client = self._client
        from codex_adapter.protocols.turns.harness import TurnError  # noqa: PLC0415 - it is loaded by now

        try:
            return await client.describe(request)
        except TurnError as error:
            code = error.told.code
            raise Fault(RUN_REFUSED, error.told.message, {"kind": "turn"} | ({"code": code} if code else {})) from None

    async def capabilities(self, _params: Nothing, _: Notify) -> HarnessCapabilities:
        return await self._client.get_harness_capabilities()
