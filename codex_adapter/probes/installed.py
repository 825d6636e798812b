"""Define the program of an agent that `doctor` found, for its report and for its probes (C4, C8)."""

from __future__ import annotations

from typing import NamedTuple

from codex_adapter.findings import BinaryReport, Finding
from codex_adapter.runtime.programs import Version

__all__ = ["Installed"]


class Installed(NamedTuple):
    """The program and its release, each None if unknown, and the findings."""

    binary: BinaryReport | None
    release: Version | None
    findings: list[Finding]
