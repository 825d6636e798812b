"""Find the backend of an agent kind (G)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from codex_adapter.errors import InvalidAgentKindError, UnknownBackendError
from codex_adapter.request import RunRequest
from codex_adapter.runtime.backend import Backend
from codex_adapter.runtime.handle import RunHandle, RunSetup

__all__ = ["Gateway"]


def _check_kind(kind: str) -> str:
    if not re.fullmatch("[a-z][a-z0-9_]*", str(kind)):
        raise InvalidAgentKindError("an agent kind must match [a-z][a-z0-9_]*")
    return kind


class Gateway:
    """Backends by agent kind (G1, G2)."""

    def __init__(self) -> None:
        self._backends: dict[str, Backend] = {}

    @property
    def backends(self) -> Mapping[str, Backend]:
        """The registered backends, by agent kind."""
        return dict(self._backends)

    def register(self, backend: Backend) -> None:
        """Add a backend. Raise `InvalidAgentKindError` for a kind that is not an identifier or is taken (G1)."""
        kind = _check_kind(backend.agent_kind)
        if kind in self._backends:
            raise InvalidAgentKindError(f"the agent kind {kind!r} is already registered")
        self._backends[kind] = backend

    def backend_of(self, agent_kind: str) -> Backend:
        """Return the backend of a kind.

        Raise `UnknownBackendError` if none is registered, `InvalidAgentKindError` if the kind is invalid (G1, G2).
        """
        backend = self._backends.get(_check_kind(agent_kind))
        if backend is None:
            known = ", ".join(sorted(self._backends)) or "none"
            raise UnknownBackendError(f"no backend is registered for this agent kind; registered: {known}")
        return backend

    def open_run(self, agent_kind: str, request: RunRequest) -> AbstractAsyncContextManager[RunHandle]:
        """Open a run with the backend of that kind. Raise its errors and those of `backend_of`."""
        return self.backend_of(agent_kind).open_run(request)

    async def check(self, agent_kind: str, request: RunRequest) -> RunSetup | None:
        """Check a request with the backend of that kind. Raise its errors and those of `backend_of`."""
        return await self.backend_of(agent_kind).check(request)
