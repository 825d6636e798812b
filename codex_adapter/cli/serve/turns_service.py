"""Serve the methods `turns/...` of `codex-adapter serve`: turns for programs in other languages (U12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from codex_adapter.agent import Agent
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.turn.client import open_client
from codex_adapter.daemon.jsonrpc import METHOD_NOT_FOUND, RUN_REFUSED, Fault
from codex_adapter.daemon.messages import Affected, Method, Nothing, Text
from codex_adapter.daemon.services import Service, ServiceCalls
from codex_adapter.protocols.turns import (
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
from codex_adapter.request import RunConfig

if TYPE_CHECKING:
    from codex_adapter.protocols.turns import AgentSpacesClient

__all__ = ["TURN_METHODS", "TurnEventParams", "turn_services"]


class TurnCancelParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The turns to cancel."""

    external_run_id: Text
    """The `externalRunId` of the turns to cancel."""


TURN_METHODS: Final[Mapping[str, Method]] = {
    "turns/run": Method(RunTurnRequest, RunTurnResponse),
    "turns/cancel": Method(TurnCancelParams, Affected),
    "turns/resolve": Method(ResolveRequest, ResolveResponse),
    "turns/describe": Method(DescribeRequest, DescribeResponse),
    "turns/capabilities": Method(Nothing, HarnessCapabilities),
}


class TurnEventParams(msgspec.Struct, frozen=True, rename="camel"):
    """One event of a turn."""

    external_run_id: str
    """The `externalRunId` of the turn."""
    event: AgentEvent
    """The event."""


def turn_services(configs: Sequence[tuple[Agent, RunConfig]]) -> dict[str, Service]:
    """Return the methods of a client for turns, by their names, with the harnesses of these agents (U12).

    The first call loads the modules that it needs: most daemons never get such a call.
    """
    methods = _Methods(configs)
    return {
        "turns/run": Service(RunTurnRequest, methods.run, slot="agent", name=attrgetter("external_run_id")),
        "turns/cancel": Service(TurnCancelParams, methods.cancel, slot=None),
        "turns/resolve": Service(ResolveRequest, methods.resolve),
        "turns/describe": Service(DescribeRequest, methods.describe),
        "turns/capabilities": Service(Nothing, methods.capabilities),
    }


class _Methods:
    """The methods that need a client."""

    def __init__(self, configs: Sequence[tuple[Agent, RunConfig]]) -> None:
        self._configs = configs

    @cached_property
    def _client(self) -> AgentSpacesClient:
        try:
            return open_client(self._configs)
        except UsageError as error:
            raise Fault(METHOD_NOT_FOUND, str(error)) from None

    async def run(self, request: RunTurnRequest, calls: ServiceCalls) -> RunTurnResponse:
        async def send(event: AgentEvent) -> None:
            await calls.notify("turns/event", TurnEventParams(request.external_run_id, event))

        return await self._client.run_turn(request, SessionCallbacks(send))

    async def cancel(self, params: TurnCancelParams, calls: ServiceCalls) -> Affected:
        return Affected(known=calls.end(params.external_run_id))

    async def resolve(self, request: ResolveRequest, _: ServiceCalls) -> ResolveResponse:
        return await self._client.resolve(request)

    async def describe(self, request: DescribeRequest, _: ServiceCalls) -> DescribeResponse:
        client = self._client
        from codex_adapter.turn_errors import TurnError  # noqa: PLC0415 - it is loaded by now

        try:
            return await client.describe(request)
        except TurnError as error:
            code = error.error.code
            raise Fault(RUN_REFUSED, error.error.message, {"kind": "turn"} | ({"code": code} if code else {})) from None

    async def capabilities(self, _params: Nothing, _: ServiceCalls) -> HarnessCapabilities:
        return await self._client.get_harness_capabilities()
