"""Define the error tree: every exception that this package raises on purpose.

    AdapterError
    +-- InvalidRequestError         the request itself is wrong; nothing was spawned.
    +-- UnsupportedCapabilityError  an extension key that the backend does not support.
    +-- UnknownBackendError         a run for an agent kind that is not registered.
    +-- InvalidAgentKindError       an agent kind that is not an identifier, or is taken.
    +-- BackendError                the run failed without a completion.
        +-- SpawnError              the agent's process could not be started.
        +-- RunTimedOut             the time limit of the run, the stream or a tool passed.
        +-- RunCancelled            the run was cancelled.

No message contains agent output, an environment value or a library's own error text. Every error can be pickled and
copied (P13).
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from typing import Any, Final, Literal, Self

from typing_extensions import override

from codex_adapter.hints import ADVICE, NO_ADVICE, Hint

__all__ = [
    "DEFAULT_AGENT",
    "AdapterError",
    "BackendError",
    "BackendKind",
    "InvalidAgentKindError",
    "InvalidRequestError",
    "RunCancelled",
    "RunTimedOut",
    "SpawnError",
    "UnknownBackendError",
    "UnsupportedCapabilityError",
]

BackendKind = Literal["spawn", "wait", "timeout", "io", "invalid_request", "other", "closed", "cancelled", "session"]
"""The kinds of failure: six with the canonical text, then three with a text of their own."""

DEFAULT_AGENT: Final = "codex"
"""The agent kind of a run that names none."""

_BACKEND_ERROR: Final = "{} backend error: {} (details redacted when unsafe)"
_TEXTS: Final[dict[BackendKind, str]] = {"cancelled": "cancelled", "closed": "{} stream closed unexpectedly"}


class AdapterError(Exception):
    """The base of all errors of this package. `str()` of every error is safe to log (X1)."""

    kind: str = "adapter"
    """The name of the error on the wire (W2)."""

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to copy the error without `__init__`, whose parameters differ between classes (P13)."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InvalidRequestError(AdapterError):
    """A malformed request. The message names the field and what it allows, never the value (Q3)."""

    kind = "invalid_request"


class UnsupportedCapabilityError(AdapterError):
    """A request with an extension key that the backend does not support.

    `agent_kind` is the backend's kind. `capability` is the smallest unknown key, made printable and cut to 128
    characters (Q2).
    """

    kind = "unsupported_capability"

    def __init__(self, agent_kind: str, capability: str) -> None:
        super().__init__(agent_kind, capability)
        self.agent_kind = agent_kind
        self.capability = capability

    @override
    def __str__(self) -> str:
        return f"agent kind {self.agent_kind!r} does not support {self.capability!r}"


class UnknownBackendError(AdapterError):
    """A run for an agent kind without a registered backend (G2)."""

    kind = "unknown_backend"


class InvalidAgentKindError(AdapterError):
    """An agent kind that does not match `[a-z][a-z0-9_]*` or is already registered (G1)."""

    kind = "invalid_agent_kind"


class BackendError(AdapterError):
    """A run that failed without a completion. `str()` is one of the canonical texts.

    `failure` is the kind of failure, which has a text of its own if no message is passed. `hint` is the cause, None if
    it is unknown. `advice` is the next step: the sentence that was passed, else the hint's, else None. `session_id` is
    the id of the session, None if the agent has not reported one. `run_usage` and `cost_usd` are what the run has used
    at least, None if the agent has not reported it (F4, F9, F15, X2).
    """

    kind = "backend"

    def __init__(
        self, failure: BackendKind, message: str | None = None, *, advice: str | None = None, hint: Hint | None = None
    ) -> None:
        super().__init__(failure, message)
        self.failure: BackendKind = failure
        self.agent_kind = DEFAULT_AGENT
        self._message = message
        self.advice = advice if advice is not None or hint is None else ADVICE[hint]
        self.hint: Hint | None = hint
        self.session_id: str | None = None
        self.run_usage: dict[str, int] | None = None
        self.cost_usd: float | None = None

    def of_agent(self, agent_kind: str, advice: Mapping[Hint, str] = NO_ADVICE) -> Self:
        """Set the agent kind, which the text names, and return this error (X2).

        The agent's own `advice` for the hint replaces the general sentence, but no other sentence (F9).
        """
        self.agent_kind = agent_kind
        if self.hint is not None and self.advice == ADVICE[self.hint]:
            self.advice = advice.get(self.hint, self.advice)
        return self

    @property
    def message(self) -> str:
        """The canonical text."""
        return self._message or _TEXTS.get(self.failure, _BACKEND_ERROR).format(self.agent_kind, self.failure)

    @override
    def __str__(self) -> str:
        return self.message


class SpawnError(BackendError):
    """The agent's process could not be started. `not_found` is True if the program does not exist (S6)."""

    def __init__(self, *, not_found: bool, advice: str | None = None, hint: Hint | None = None) -> None:
        super().__init__("spawn", advice=advice, hint=hint)
        self.not_found = not_found


class RunTimedOut(BackendError):
    """The run was ended because its `timeout`, `idle_timeout` or `tool_timeout` passed (K1, K2)."""


class RunCancelled(BackendError):
    """The run was ended by `RunHandle.cancel()`, a signal or a supervisor (K3)."""
