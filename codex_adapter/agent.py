"""Define what an agent CLI must bring: the seam between the runtime and a folder of `agents` (AG1 to AG6).

The runtime starts a `Launch`, passes the agent's standard output and standard error to a `Decoder`, writes what the
decoder has to send to standard input, and ends the agent with the launch's signals. It knows nothing else of an agent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Protocol

import msgspec
from typing_extensions import override

from codex_adapter.core.checks import refuse
from codex_adapter.core.decoder import Decoded, Decoder
from codex_adapter.core.error_texts import parse_error_text
from codex_adapter.core.framing import Line, OversizeLine, content_of
from codex_adapter.core.masking.credentials import secret_values
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.notices import error_event, status_event
from codex_adapter.core.request_checks import FileSystem, check_request, check_run_config, effective_timeout
from codex_adapter.core.state import StreamState
from codex_adapter.errors import BackendError
from codex_adapter.hints import Hint
from codex_adapter.request import RunConfig, RunRequest

__all__ = [
    "Agent",
    "CheckedRun",
    "Decoded",
    "Decoder",
    "ExpectedSession",
    "FileSystem",
    "Hint",
    "Launch",
    "Line",
    "Masker",
    "OversizeLine",
    "StreamState",
    "check_request",
    "check_run_config",
    "content_of",
    "effective_timeout",
    "error_event",
    "parse_error_text",
    "refuse",
    "secret_values",
    "status_event",
]


class ExpectedSession(Protocol):
    """The session that a run was asked to resume or fork (S9)."""

    def refuses(self, session_id: str) -> BackendError | None:
        """Return the error for a run whose first session id is not of the session asked for, else None."""

    def missing(self) -> BackendError:
        """Return the error for a session that does not exist."""


class CheckedRun(msgspec.Struct, frozen=True):
    """A request that was checked, where nothing has been started: its directory, model and secrets (Q)."""

    cwd: str
    model: str | None
    secrets: tuple[str, ...]

    @override
    def __repr__(self) -> str:
        """Show nothing: it may be secret (X1)."""
        return "CheckedRun(...)"


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """All that the start of one agent needs, checked (AG2).

    `argv[0]` is an absolute path, `cwd` an absolute directory. `stdin` is written first; standard input is closed after
    it unless the decoder keeps it open. `timeout` is in seconds, None for no limit. `secrets` are values to mask.
    `decoder` makes the decoder of the run. `stop_signals` ask the agent to end: the signals of a group at once, a group
    after the other, each with an equal part of `stop_timeout`, and SIGKILL after the last (K4). `private_file` is an
    absolute path that is removed with the run, and its directory with it. `model` and `release` are None where they are
    not known.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    decoder: Callable[[Masker], Decoder]
    stop_signals: Sequence[Sequence[int]]
    stdin: bytes = b""
    timeout: float | None = None
    secrets: tuple[str, ...] = ()
    session: ExpectedSession | None = None
    private_file: str | None = None
    model: str | None = None
    release: str | None = None

    @override
    def __repr__(self) -> str:
        """Show nothing: it may be secret (X1)."""
        return "Launch(...)"


class Agent(ABC):
    """One kind of agent CLI. It has no state; any number of runs use it at once (AG1)."""

    kind: ClassVar[str]
    """By which requests, events and the command line name it: `[a-z][a-z0-9_]*` (G1)."""
    name: ClassVar[str]
    """What a person calls it, with its article."""
    capabilities: ClassVar[frozenset[str]]
    """The capability ids that it has, extension keys among them (G3)."""
    config_type: ClassVar[type[RunConfig]] = RunConfig
    """The type of its configuration."""

    @abstractmethod
    def check_config(self, config: RunConfig) -> None:
        """Check what can be checked of a configuration without a request. Raise `InvalidRequestError` (Q5)."""

    @abstractmethod
    async def check(self, request: RunRequest, config: RunConfig) -> CheckedRun:
        """Check all of a request, and find the program, without starting anything.

        Raises `InvalidRequestError`, `UnsupportedCapabilityError` and `BackendError`.
        """

    @abstractmethod
    def prepare(
        self, request: RunRequest, config: RunConfig, *, mark: str, ask_release: bool
    ) -> AbstractAsyncContextManager[Launch]:
        """Check a request, and hold all that its run needs besides the process: its private files, for one.

        Entering raises as `check` does, and leaves nothing then; leaving removes what entering has made. `mark` names
        the run, and begins the names of files that are found by it if this process is killed. With `ask_release` the
        launch has the release of the program, where it names one.
        """

    @abstractmethod
    def decoder(self, masker: Masker, *, full_payloads: bool = False) -> Decoder:
        """Return a decoder for a recorded stream, of which nothing but its standard output is known (Y1)."""
