"""Find the program of an agent, for the report of `doctor` and for the agent's probes (C4, C8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from codex_adapter.errors import BackendError, SpawnError
from codex_adapter.file_systems import inquire
from codex_adapter.findings import BinaryReport, Finding
from codex_adapter.request import RunConfig
from codex_adapter.runtime.programs import Binary, Program, Version
from codex_adapter.runtime.releases import ReleaseTable

__all__ = ["Installed", "binary_report", "find_or_report", "program_finding", "release_finding"]

_NO_NATIVE_BINARY: Final = (
    "The native binary beside the launcher was not found. Install the CLI again, with its optional packages."
)


class Installed(NamedTuple):
    """The program and its release, each None if unknown, and the findings."""

    binary: BinaryReport | None
    release: Version | None
    findings: list[Finding]


async def find_or_report(program: Program, config: RunConfig, environ: Mapping[str, str]) -> Binary | Installed:
    """Return the program that a run with this environment would execute, else the finding why it cannot (S6)."""
    try:
        return await inquire(lambda inquiry: program.find(config.binary, environ, inquiry.at))
    except SpawnError as error:
        problem, advice = "not found" if error.not_found else "cannot be executed", error.advice
    except BackendError as error:
        problem, advice = "no answer", error.advice
    return Installed(None, None, [Finding(program.command, "failed", problem, advice)])


def binary_report(binary: Binary, release: Version | None, table: ReleaseTable[Any]) -> BinaryReport:
    """Return the report on a program. Only a supported release has features and differences (R1)."""
    known = release if release is not None and table.is_supported(release) else None
    return BinaryReport(
        path=binary.path,
        origin=binary.origin,
        launcher=binary.launcher,
        version=None if release is None else str(release),
        supported=None if release is None else known is not None,
        features={} if known is None else table.features_of(known),
        differences={} if known is None else table.differences_of(known),
    )


def program_finding(program: Program, binary: Binary) -> Finding:
    """Return the finding on a program that was found: a warning for an npm launcher without its native binary."""
    if binary.launcher:
        found = f"{binary.path} (npm launcher, from {binary.origin})"
        return Finding(program.command, "warning", found, _NO_NATIVE_BINARY)
    return Finding(program.command, "ok", f"{binary.path} (from {binary.origin})")


def release_finding(release: Version, table: ReleaseTable[Any], upgrade: str) -> Finding:
    """Return the finding on a known release. `upgrade` is the next step for one that is not supported."""
    if not table.is_supported(release):
        return Finding("release", "failed", f"{release}, which is not supported", upgrade)
    return Finding("release", "ok", f"{release}, supported")
