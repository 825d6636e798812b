"""Define the interface between the runtime and a folder of `agents`: all that an agent CLI needs to provide.

The runtime starts a `Launch` and passes the agent's standard output and standard error to a `Decoder`. It writes the
decoder's data to standard input, and ends the agent with the launch's signals. It knows nothing else about an agent
(AG1 to AG6).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from shutil import which
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from codex_adapter.core.checks import refuse
from codex_adapter.core.decoder import Decoded, Decoder
from codex_adapter.core.error_texts import parse_error_text
from codex_adapter.core.extension_keys import NON_INTERACTIVE, RESUME
from codex_adapter.core.framing import Line, OversizeLine, content_of
from codex_adapter.core.masking.credentials import secret_values
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.notices import error_event, status_event
from codex_adapter.core.request_checks import FileSystem, check_request, check_run_config, effective_timeout
from codex_adapter.core.state import StreamState
from codex_adapter.errors import BackendError, InvalidRequestError, SpawnError, UnsupportedCapabilityError
from codex_adapter.hints import NO_ADVICE, Hint
from codex_adapter.request import RunConfig, RunRequest

if TYPE_CHECKING:
    from codex_adapter.agent_places import AgentPlaces
    from codex_adapter.findings import AgentReport, Finding, Verdict
    from codex_adapter.harness import Harness
    from codex_adapter.options import Option

__all__ = [
    "Agent",
    "CheckedRun",
    "Decoded",
    "Decoder",
    "Demo",
    "ExpectedSession",
    "FileSystem",
    "Hint",
    "Launch",
    "Line",
    "Masker",
    "OversizeLine",
    "Purpose",
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

Purpose: TypeAlias = Literal["run", "no_tools", "turn"]
"""The purpose of a configuration: any run, a run whose agent has no tools, or a turn."""


class ExpectedSession(Protocol):
    """The session that a run resumes or forks (S9)."""

    def refuses(self, session_id: str) -> BackendError | None:
        """Return the error if the run's first session id is not the requested session's, else None."""

    def missing(self) -> BackendError:
        """Return the error for a session that does not exist."""


class CheckedRun(msgspec.Struct, frozen=True):
    """A checked request of a run that has not started: its directory, model and secrets (Q)."""

    cwd: str
    model: str | None
    secrets: tuple[str, ...]

    @override
    def __repr__(self) -> str:
        """Show nothing, because any value may be secret (X1)."""
        return "CheckedRun(...)"


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """The checked data with which one agent starts.

    `argv[0]` is an absolute path, `cwd` an absolute directory. `stdin` is written first; standard input is then closed
    unless the decoder keeps it open. `timeout` is in seconds, None for no limit. `secrets` are values to mask.
    `decoder` makes the decoder of the run.

    `stop_signals` ask the agent to end. The signals of one group are sent together, and the groups one after another.
    Each group gets an equal part of `stop_timeout`. SIGKILL follows the last group. `private_file` is an absolute path.
    Its directory is removed with the run, with all of its content. `model` and `release` are None if they are unknown.
    `answer_schema` is the JSON Schema of the last message, or None (AG2, F14, K4).
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
    answer_schema: Mapping[str, Any] | None = None

    @override
    def __repr__(self) -> str:
        """Show nothing, because any value may be secret (X1)."""
        return "Launch(...)"


class Demo(NamedTuple):
    """A run that needs neither account nor network; it succeeds when `file` exists at its end (C3).

    `introduction` is a line for a person; it is empty if the program cannot be executed, which the run reports.
    """

    introduction: str
    request: RunRequest
    config: RunConfig
    file: Path


class Agent(ABC):
    """One kind of agent CLI. It has no state; any number of runs use it at once (AG1)."""

    kind: ClassVar[str]
    """The name in requests, events and the command line: `[a-z][a-z0-9_]*` (G1)."""
    name: ClassVar[str]
    """The name for a person, with its article."""
    capabilities: ClassVar[frozenset[str]]
    """The supported capability ids, extension keys among them (G3)."""
    config_type: ClassVar[type[RunConfig]] = RunConfig
    """The type of its configuration."""
    advice: ClassVar[Mapping[Hint, str]] = NO_ADVICE
    """The agent's own sentences for hints; each other hint has the general sentence (F9)."""
    examples: ClassVar[Mapping[str, Sequence[str]]] = MappingProxyType({})
    """Command lines that only this agent understands, for the help of a command: by its name, such as `run` (C23)."""
    harness_id: ClassVar[str | None] = None
    """The name by which turns select its harness; None if it has no harness (U5)."""
    conversation_variables: ClassVar[Sequence[str]] = ()
    """The variables that name the agent's own directories. A turn sets them itself (U9)."""

    @property
    def options(self) -> Sequence[Option]:
        """All options of the agent, in the order of the help; none by default (C6, C23)."""
        return ()

    @abstractmethod
    def check_config(self, config: RunConfig, purpose: Purpose = "run") -> None:
        """Check the parts of a configuration that need no request. Raise `InvalidRequestError` (Q5, Q7)."""

    @abstractmethod
    async def check(self, request: RunRequest, config: RunConfig) -> CheckedRun:
        """Check all of a request and find the program, without starting anything.

        Raise `InvalidRequestError`, `UnsupportedCapabilityError` or `BackendError`.
        """

    @abstractmethod
    def prepare(
        self, request: RunRequest, config: RunConfig, *, mark: str, ask_release: bool
    ) -> AbstractAsyncContextManager[Launch]:
        """Check a request, and own all resources of its run besides the process, such as its private files.

        Entering raises the errors of `check` and then leaves nothing behind. Leaving removes everything that entering
        made. `mark` identifies the run. Names of files begin with it, so that they are found if this process is killed.
        With `ask_release` the launch has the release of the program, if the program reports one.
        """

    @abstractmethod
    def decoder(self, masker: Masker, *, full_payloads: bool = False) -> Decoder:
        """Return a decoder for a recording, which has only the standard output of a run (Y1)."""

    def find_program(self, config: RunConfig, environ: Mapping[str, str]) -> str:
        """Return the absolute path of the program that a run executes. Raise `SpawnError` (S6)."""
        found = which(config.binary or self.kind, path=environ.get("PATH"))
        if found is None:
            advice = f"The program of {self.name} was not found. Install it, or pass its path."
            raise SpawnError(not_found=True, advice=advice)
        return str(Path(found).absolute())

    def places(self, program: str | None = None) -> AgentPlaces:
        """Return where the agent keeps settings and logins, for `program` or by default for the program of a run.

        Operations and the mailbox keep each agent out of the places of all agents (H13, H14, H15).
        """
        from codex_adapter.agent_places import AgentPlaces  # noqa: PLC0415 - no run needs it

        del program
        return AgentPlaces(settings=frozenset({f".{self.kind}"}), logins=(f".{self.kind}",))

    def restricted(self, request: RunRequest) -> RunRequest:
        """Return the request of a run that is read-only, never asks and has no tools (AG7).

        By default, the keys for it are `agent_api.exec.non_interactive`, and `exec.sandbox_mode` and `tools` of the
        agent.
        """
        own = {f"backend.{self.kind}.exec.sandbox_mode": "read-only", f"backend.{self.kind}.tools": "none"}
        return self._extended(request, {NON_INTERACTIVE: True, **own}, "restricted runs")

    def with_schema(self, request: RunRequest, schema: Mapping[str, Any]) -> RunRequest:
        """Return the request of a run whose last message is JSON of this schema (AG7).

        By default, the key for it is `output_schema` of the agent.
        """
        return self._extended(request, {f"backend.{self.kind}.output_schema": schema}, "a schema of the last message")

    def resume(self, request: RunRequest, session_id: str) -> RunRequest:
        """Return the request of a run that continues a session (AG7).

        By default, the key for it is `agent_api.session.resume.v1`.
        """
        return self._extended(request, {RESUME: {"selector": "id", "id": session_id}}, "resuming a session")

    def harness(self, config: RunConfig | None = None) -> Harness:
        """Return the harness for turns, which needs the extra `turns`. Raise `UnsupportedCapabilityError` (U5)."""
        raise UnsupportedCapabilityError(self.kind, "turns")

    def notice(self, request: RunRequest) -> str | None:
        """Return a sentence for a person to read before this run, or None. This may block on the file system."""
        del request
        return None

    async def examine(self, config: RunConfig) -> AgentReport:
        """Report on program, login and sandbox on this machine (C4)."""
        from codex_adapter.findings import AgentReport, BinaryReport, Finding  # noqa: PLC0415 - no run needs it

        try:
            binary = BinaryReport(self.find_program(config, os.environ))
        except SpawnError as error:
            if config.binary is None and type(self).find_program is Agent.find_program:
                # A run of the agent may find the program elsewhere.
                unknown = "Start a run of the agent to see whether it works."
                return AgentReport(findings=[Finding(self.kind, "warning", "not found under its own name", unknown)])
            return AgentReport(findings=[Finding(self.kind, "failed", "not found", error.advice)])
        return AgentReport(binary=binary, findings=[Finding(self.kind, "ok", binary.path)])

    async def probe(
        self, config: RunConfig, root: Path, report: Callable[[Sequence[Finding | Verdict]], Awaitable[object]]
    ) -> str | None:
        """Report which promises hold with the installed program, below `root`. Return its release (C8).

        Raise `InvalidRequestError` before any report if the agent has no probes.
        """
        raise InvalidRequestError(f"{self.name} does not support `doctor --probe`. Use `doctor` without --probe.")

    def login_command(self, config: RunConfig, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Return argv and environment of a login. Raise `SpawnError` or `InvalidRequestError` (C16)."""
        raise InvalidRequestError(f"{self.name} does not support `login`. Log in with its own program.")

    def stage_demo(self, root: Path, binary: str | None) -> AbstractContextManager[Demo]:
        """Create a run below `root` that needs neither account nor network. Raise `InvalidRequestError` (C3)."""
        raise InvalidRequestError(f"{self.name} does not support `demo`. Use another agent.")

    def _extended(self, request: RunRequest, extensions: Mapping[str, Any], what: str) -> RunRequest:
        """Add extensions to a request. Raise `UnsupportedCapabilityError` if the agent does not have their keys."""
        if not extensions.keys() <= self.capabilities:
            raise UnsupportedCapabilityError(self.kind, what)
        return replace(request, extensions={**request.extensions, **extensions})
