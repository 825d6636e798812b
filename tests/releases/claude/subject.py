"""Describe Claude Code to the laboratory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from codex_adapter.agents.claude import releases
from codex_adapter.runtime.programs import Version
from codex_adapter.runtime.releases import ReleaseTable
from tests.releases.case import Case, play_case
from tests.releases.subject import Evidence, Installed, Played, Subject, Variation, printed_version

from .catalogue import CATALOGUE
from .evidence import EVIDENCE
from .play import prepare
from .stable import Stable
from .variations import VARIATIONS

__all__ = ["CLAUDE"]


class Claude(Subject):
    """Claude Code, from the first supported release to the newest known one."""

    kind: ClassVar[str] = "claude_code"
    title: ClassVar[str] = "Claude Code"
    page: ClassVar[str] = "releases-claude-code.md"
    package: ClassVar[str] = "@anthropic-ai/claude-code"
    versions: ClassVar[Sequence[str]] = ("1.0.126", "1.0.128", "2.0.76", "2.1.152", "2.1.330")
    table: ClassVar[ReleaseTable[Any]] = releases.RELEASES
    cases: ClassVar[Mapping[str, Case]] = CATALOGUE
    evidence: ClassVar[Mapping[str, Evidence]] = EVIDENCE
    variations: ClassVar[Sequence[Variation]] = VARIATIONS

    @override
    def programs(self, directory: Path) -> list[Path]:
        """Implement `Subject.programs`: the native program, else the script of the older releases."""
        packages = directory / "node_modules" / "@anthropic-ai"
        return [*sorted(packages.glob("claude-code-linux-*/claude")), *packages.glob("claude-code/cli.js")]

    @override
    def version_of(self, program: Path) -> Version | None:
        """Implement `Subject.version_of`."""
        return printed_version(program, releases.parse_version)

    @override
    async def play(self, case: Case, release: Installed, root: Path) -> list[Played]:
        """Implement `Subject.play`."""
        return await play_case(self.kind, case, release, root, prepare)

    @override
    def stable(self, root: Path) -> Callable[[bytes], bytes]:
        """Implement `Subject.stable`."""
        return Stable(root).form


CLAUDE = Claude()
