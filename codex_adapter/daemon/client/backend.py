"""Open runs in a daemon, as a backend (G1, J15)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from msgspec import Raw

from codex_adapter.daemon.client.connection import Connection
from codex_adapter.daemon.client.remote_run import RemoteRun
from codex_adapter.daemon.client.wire_request import encode_request
from codex_adapter.daemon.messages import InitializeResult
from codex_adapter.request import RunRequest
from codex_adapter.runtime.handle import RunHandle, live_run

__all__ = ["DaemonBackend"]


class DaemonBackend:
    """A daemon as a backend for any number of runs. Runs over its limit wait in its queue. (J8, J15)"""

    def __init__(self, connection: Connection, server: InitializeResult) -> None:
        self._connection = connection
        self._server = server

    @property
    def agent_kind(self) -> str:
        """The agent kind of the runs."""
        return self._connection.agent_kind

    @property
    def capabilities(self) -> frozenset[str]:
        """The capability ids of the daemon's backend, empty if it has no backend of this agent kind (G3)."""
        return frozenset(self._server.capabilities.get(self.agent_kind, ()))

    async def check(self, request: RunRequest) -> None:
        """Implement `Backend.check`, without the checks that need the daemon."""
        await self._encode(request)
        await trio.lowlevel.checkpoint()

    @asynccontextmanager
    async def open_run(self, request: RunRequest) -> AsyncIterator[RunHandle]:
        """Open a run as `codex_adapter.open_run` does, with the agent as a child of the daemon.

        A run in the queue counts as open. If it cannot be started later, `wait_completed` raises the error.
        """
        encoded = await self._encode(request)
        run = RemoteRun(self._connection, uuid.uuid4().hex, self._server.containment)
        await run.start(encoded)
        async with live_run(run) as handle:
            yield handle

    async def _encode(self, request: RunRequest) -> Raw:
        return await encode_request(request, self._server.limits.max_message_bytes, self.agent_kind)
