"""Describe the Codex CLI to the laboratory."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from codex_adapter.agents.codex import releases
from codex_adapter.runtime.programs import Version
from codex_adapter.runtime.releases import ReleaseTable
from tests.releases.subject import Evidence, Installed, Played, Subject, Variation, printed_version

from .catalogue import CATALOGUE, Case
from .evidence import EVIDENCE
from .play import play
from .stable import Stable
from .variations import VARIATIONS

__all__ = ["CODEX"]


class Codex(Subject):
    """The Codex CLI, from the first supported release to the newest known one."""

    kind: ClassVar[str] = "codex"
    title: ClassVar[str] = "the Codex CLI"
    page: ClassVar[str] = "releases.md"
    package: ClassVar[str] = "@openai/codex"
    versions: ClassVar[Sequence[str]] = (
        *("0.44.0", "0.47.0", "0.61.0", "0.77.0", "0.98.0", "0.107.0", "0.116.0"),
        *("0.125.0", "0.140.0", "0.147.0", "0.155.0", "0.163.0", "0.169.0"),
    )
    table: ClassVar[ReleaseTable[Any]] = releases.RELEASES
    cases: ClassVar[Mapping[str, Case]] = CATALOGUE
    evidence: ClassVar[Mapping[str, Evidence]] = EVIDENCE
    variations: ClassVar[Sequence[Variation]] = VARIATIONS
    impossible: ClassVar[Sequence[str]] = ("forking the last session",)

    @override
    def programs(self, directory: Path) -> list[Path]:
        """Implement `Subject.programs`."""
        return sorted(directory.glob(f"node_modules/**/vendor/{platform.machine()}-unknown-linux-musl/*/codex"))

    @override
    def version_of(self, program: Path) -> Version | None:
        """Implement `Subject.version_of`."""
        return printed_version(program, releases.parse_version)

    @override
    async def play(self, case: Case, release: Installed, root: Path) -> list[Played]:
        """Implement `Subject.play`."""
        return await play(case, release, root)

    @override
    def stable(self, root: Path) -> Callable[[bytes], bytes]:
        """Implement `Subject.stable`."""
        return Stable(root).form


CODEX = Codex()
