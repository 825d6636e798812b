"""The backend whose runs a daemon carries out (G1, J15)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from msgspec import Raw

from codex_adapter.daemon.client.connection import Connection
from codex_adapter.daemon.client.remote_run import RemoteRun
from codex_adapter.daemon.client.wire_request import request_on_the_wire
from codex_adapter.daemon.messages import InitializeResult
from codex_adapter.errors import DEFAULT_AGENT
from codex_adapter.request import RunRequest
from codex_adapter.runtime.handle import RunHandle, carried

__all__ = ["DaemonBackend"]


class DaemonBackend:
    """A daemon as a backend: any number of runs at once, those over its limit in its queue (J8, J15)."""

    def __init__(self, connection: Connection, told: InitializeResult) -> None:
        self._connection = connection
        self._told = told

    @property
    def agent_kind(self) -> str:
        """`codex`."""
        return DEFAULT_AGENT

    @property
    def capabilities(self) -> frozenset[str]:
        """The capability ids of the daemon's backend (G3)."""
        return frozenset(self._told.capabilities.get(DEFAULT_AGENT, ()))

    async def check(self, request: RunRequest) -> None:
        """As `Backend.check`; only the daemon can tell more."""
        self._on_the_wire(request)
        await trio.lowlevel.checkpoint()

    @asynccontextmanager
    async def open_run(self, request: RunRequest) -> AsyncIterator[RunHandle]:
        """As `open_run` of the package, the agent being the daemon's child.

        A run that has to wait for its turn is open all the same; what fails when it comes is raised by
        `wait_completed`.
        """
        run = RemoteRun(self._connection, uuid.uuid4().hex, self._told.containment)
        await run.start(self._on_the_wire(request))
        async with carried(run) as handle:
            yield handle

    def _on_the_wire(self, request: RunRequest) -> Raw:
        return request_on_the_wire(request, self._told.limits.max_message_bytes)
