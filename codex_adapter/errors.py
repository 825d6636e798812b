"""The error tree: every exception that this package raises on purpose.

    AdapterError
    +-- InvalidRequestError         the request itself is wrong; nothing was spawned
    +-- UnsupportedCapabilityError  an extension key that the backend does not know
    +-- UnknownBackendError         a run for an agent kind that nobody registered
    +-- InvalidAgentKindError       an agent kind that is no identifier, or is taken
    +-- BackendError                the run could not be carried to a completion
        +-- SpawnError              the agent's process could not be started
        +-- RunTimedOut             the run's, the stream's or a tool's time limit passed
        +-- RunCancelled            somebody asked the run to end

No message holds anything of the agent's output, of an environment value or of a library's own error text.
"""

from __future__ import annotations

from typing import Final, Literal, Self

from typing_extensions import override

from codex_adapter.hints import ADVICE, Hint

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
"""Why a run failed: the six kinds of the canonical text, then the three failures that have a text of their own."""

DEFAULT_AGENT: Final = "codex"
"""The kind of the agent that runs have which name none."""

_BACKEND_ERROR: Final = "{} backend error: {} (details redacted when unsafe)"
_TEXTS: Final[dict[BackendKind, str]] = {"cancelled": "cancelled", "closed": "{} stream closed unexpectedly"}


class AdapterError(Exception):
    """Base of all errors of this package; `str()` of any of them is safe to log (X1)."""

    kind: str = "adapter"
    """The name of the error on the wire (W2)."""


class InvalidRequestError(AdapterError):
    """The request is malformed; the message names the field and what is allowed, never the value (Q3)."""

    kind = "invalid_request"


class UnsupportedCapabilityError(AdapterError):
    """The request has an extension key that the backend does not know (Q2).

    `agent_kind` is the backend asked, `capability` the smallest unknown key, made printable and cut to 128 characters.
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
    """No backend is registered for the agent kind of a run (G2)."""

    kind = "unknown_backend"


class InvalidAgentKindError(AdapterError):
    """An agent kind must match `[a-z][a-z0-9_]*` and be registered once (G1)."""

    kind = "invalid_agent_kind"


class BackendError(AdapterError):
    """A run that came to no completion; `str()` is one of the canonical texts (X2, F4).

    `failure` says why in one word, and has a text of its own where no other is passed; `hint` is the cause, None where
    it is not known; `advice` is a sentence on what to do next: the one passed, else the hint's, else None (F9).
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

    def of_agent(self, agent_kind: str) -> Self:
        """Make it an error of this agent, whose kind its text names, and return it (X2)."""
        self.agent_kind = agent_kind
        return self

    @property
    def message(self) -> str:
        """The canonical text."""
        return self._message or _TEXTS.get(self.failure, _BACKEND_ERROR).format(self.agent_kind, self.failure)

    @override
    def __str__(self) -> str:
        return self.message


class SpawnError(BackendError):
    """The agent's process could not be started (S6).

    `not_found` tells a missing binary from one that cannot be executed.
    """

    def __init__(self, *, not_found: bool, advice: str | None = None, hint: Hint | None = None) -> None:
        super().__init__("spawn", advice=advice, hint=hint)
        self.not_found = not_found


class RunTimedOut(BackendError):
    """The run's `timeout`, `idle_timeout` or `tool_timeout` passed, and the run was ended (K1, K2)."""


class RunCancelled(BackendError):
    """The run was ended by `RunHandle.cancel()`, a signal or a supervisor (K3)."""
