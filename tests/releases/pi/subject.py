"""Describe pi to the laboratory."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
from typing_extensions import override

from codex_adapter.agents.pi import releases
from codex_adapter.runtime.programs import Version
from codex_adapter.runtime.releases import ReleaseTable
from tests.releases.case import Case, play_case
from tests.releases.subject import Evidence, Installed, Played, Subject, Variation

from .catalogue import CATALOGUE
from .evidence import EVIDENCE
from .play import prepare
from .stable import Stable
from .variations import VARIATIONS

__all__ = ["NODE", "PI"]

NODE: Final = f"node-linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}"
"""The package of npm with the Node.js that releases after 0.74 need, in the folder `bin`."""


class Pi(Subject):
    """pi, from the first supported release to the newest that was run."""

    kind: ClassVar[str] = "pi"
    title: ClassVar[str] = "pi"
    page: ClassVar[str] = "releases-pi.md"
    package: ClassVar[str] = "@earendil-works/pi-coding-agent"
    beside: ClassVar[Sequence[str]] = (f"{NODE}@22",)
    versions: ClassVar[Sequence[str]] = ("0.74.2", "0.78.1", "0.80.10", "0.83.0", "0.87.1")
    table: ClassVar[ReleaseTable[Any]] = releases.RELEASES
    cases: ClassVar[Mapping[str, Case]] = CATALOGUE
    evidence: ClassVar[Mapping[str, Evidence]] = EVIDENCE
    variations: ClassVar[Sequence[Variation]] = VARIATIONS

    @override
    def programs(self, directory: Path) -> list[Path]:
        """Implement `Subject.programs`."""
        return list(directory.glob("node_modules/.bin/pi"))

    @override
    def version_of(self, program: Path) -> Version | None:
        """Implement `Subject.version_of`. The program itself starts only with a suitable Node.js."""
        package = program.parents[1] / self.package / "package.json"
        return releases.parse_version(str(msgspec.json.decode(package.read_bytes())["version"]))

    @override
    async def play(self, case: Case, release: Installed, root: Path) -> list[Played]:
        """Implement `Subject.play`."""
        modules = release.binary.parents[1]
        package, node = modules / self.package, modules / NODE / "bin"
        return await play_case(self.kind, case, release, root, lambda *run: prepare(*run, package=package, node=node))

    @override
    def stable(self, root: Path) -> Callable[[bytes], bytes]:
        """Implement `Subject.stable`."""
        return Stable(root).form


PI = Pi()
