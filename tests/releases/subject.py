"""Define what the laboratory must know about an agent CLI to test its releases."""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import msgspec

from codex_adapter.runtime.programs import Version
from codex_adapter.runtime.releases import ReleaseTable

__all__ = [
    "Case",
    "Evidence",
    "Installed",
    "Line",
    "Played",
    "Runs",
    "Subject",
    "Variation",
    "printed_version",
    "version_of",
]

Line = dict[str, Any]


class Case(Protocol):
    """A case of a catalogue: `since` is the first release to which it applies, None for all releases."""

    @property
    def name(self) -> str:
        """The name of the case, which can be the name of a file."""

    @property
    def about(self) -> str:
        """A sentence about the case."""

    @property
    def since(self) -> str | None:
        """The first release to which the case applies."""


class Installed(NamedTuple):
    """An installed CLI, and the time of its installation in seconds: 0 if it existed before."""

    version: Version
    binary: Path
    seconds: float


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run of a case: stdout and stderr of the CLI, and the records of the adapter.

    `returncode` is as in `subprocess`. It is None if the adapter refused or ended the run; `error` has the reason.
    `left` counts processes that remain. A run with the CLI alone has the records of a replay.
    """

    scenario: str
    through: Literal["adapter", "cli"]
    stdout: bytes
    stderr: bytes
    records: bytes
    returncode: int | None
    error: str | None
    requests: int
    seconds: float
    left: int = 0


Runs = Mapping[str, Played]


class Evidence(NamedTuple):
    """The run that shows a quirk, and the check of that run."""

    scenario: str
    shows: Callable[[Played, Runs], bool]


class Variation(NamedTuple):
    """A difference between two runs that is not a finding; with a `quirk`, only in the releases that have it (R1)."""

    name: str
    reduce: Callable[[list[Line]], list[Line]]
    quirk: str | None = None


class Subject(ABC):
    """An agent CLI whose releases the laboratory tests.

    `title` is its name on pages, `package` its package in npm, `beside` the packages that it needs besides. `versions`
    are the releases to test, the oldest first.
    `evidence` has the quirks that some case shows, by name. `impossible` names what no release supports.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    page: ClassVar[str]
    package: ClassVar[str]
    beside: ClassVar[Sequence[str]] = ()
    versions: ClassVar[Sequence[str]]
    table: ClassVar[ReleaseTable[Any]]
    cases: ClassVar[Mapping[str, Any]]
    evidence: ClassVar[Mapping[str, Evidence]]
    variations: ClassVar[Sequence[Variation]]
    impossible: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def programs(self, directory: Path) -> list[Path]:
        """Return the programs of the CLI that npm installed in a directory, the best first."""

    @abstractmethod
    def version_of(self, program: Path) -> Version | None:
        """Return the release of an installed program, or None."""

    @abstractmethod
    async def play(self, case: Any, release: Installed, root: Path) -> list[Played]:
        """Play all runs of a case. All their files are below `root`, which does not exist yet."""

    @abstractmethod
    def stable(self, root: Path) -> Callable[[bytes], bytes]:
        """Return the function that replaces, in the output of a case, all that differs by machine, time and run."""

    def fitting(self, version: Version) -> list[Any]:
        """Return the cases that apply to this release."""
        return [case for case in self.cases.values() if case.since is None or version_of(case.since)[:3] <= version[:3]]

    def variations_of(self, version: Version) -> list[Variation]:
        """Return the differences that are not findings in this release."""
        quirks = self.table.quirks_of(version)
        return [variation for variation in self.variations if variation.quirk is None or variation.quirk in quirks]


def printed_version(program: Path, parse: Callable[[str], Version | None]) -> Version | None:
    """Return the release that a program prints for `--version`, or None. Raise CalledProcessError if it fails."""
    done = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return parse(done.stdout)


def version_of(text: str) -> Version:
    """Return the release that a directory or a case names. Raise ValueError if the text is not a release."""
    numbers, _, pre = text.partition("-")
    major, minor, patch = (int(part) for part in numbers.split("."))
    return Version(major, minor, patch, pre)
