"""Define what an agent CLI must bring (stub until the seam lands)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

from codex_adapter.request import RunConfig, RunRequest

if TYPE_CHECKING:
    from codex_adapter.findings import AgentReport, Finding, Verdict
    from codex_adapter.options import Option

__all__ = ["Agent", "Demo", "Purpose"]

Purpose: TypeAlias = Literal["run", "no_tools", "turn"]
"""What a configuration is for: any run, a run whose agent has no tools, or a turn."""


class Demo(NamedTuple):
    """A run that needs neither account nor network; it succeeds when `file` exists at its end.

    `introduction` is a line for a person; it is empty where the program cannot be executed, and the run says so.
    """

    introduction: str
    request: RunRequest
    config: RunConfig
    file: Path


class Agent(ABC):
    """One kind of agent CLI. It has no state; any number of runs use it at once (AG1)."""

    kind: ClassVar[str]
    name: ClassVar[str]
    conversation_variables: ClassVar[Sequence[str]] = ()
    """The variables that say where it keeps its files, which belong to the conversation of a turn."""
    config_type: ClassVar[type[RunConfig]] = RunConfig

    @property
    @abstractmethod
    def options(self) -> Sequence[Option]:
        """All choices that it offers, in the order of the help (C6)."""

    @abstractmethod
    def check_config(self, config: RunConfig, purpose: Purpose = "run") -> None:
        """Check what can be checked of a configuration without a request. Raise `InvalidRequestError` (Q5, Q7)."""

    @abstractmethod
    def find_program(self, config: RunConfig, environ: Mapping[str, str]) -> str:
        """Return the absolute path of the program that a run executes. Raise `SpawnError` (S6)."""

    @abstractmethod
    async def examine(self, config: RunConfig) -> AgentReport:
        """Report on program, login and sandbox on this machine (C4)."""

    @abstractmethod
    async def probe(
        self,
        config: RunConfig,
        root: Path,
        report: Callable[[Sequence[Finding | Verdict]], Awaitable[object]],
    ) -> str | None:
        """Report which promises hold with the installed program, below `root`; return its release (C8)."""

    @abstractmethod
    def login_command(self, config: RunConfig, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Return argv and environment of a login. Raise `SpawnError` or `InvalidRequestError` (C16)."""

    @abstractmethod
    def stage_demo(self, root: Path, binary: str | None) -> AbstractContextManager[Demo]:
        """Make a run that needs neither account nor network, all of it below `root` (C3)."""

    @abstractmethod
    def notice(self, request: RunRequest) -> str | None:
        """Return what a person should know before this run, in a sentence; blocks on the file system."""
