"""Choose the stage for a release of any agent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from .claude_stage import ClaudeRelease, ClaudeStage
from .pi_stage import PiRelease, PiStage
from .releases import Release
from .stage import Stage

__all__ = ["AnyRelease", "stage_of"]

AnyRelease = Release | ClaudeRelease | PiRelease
_STAGES: Final[Mapping[type, type[Stage]]] = MappingProxyType({ClaudeRelease: ClaudeStage, PiRelease: PiStage})


def stage_of(release: AnyRelease, root: Path) -> Stage:
    """Return a place for runs of a release."""
    return _STAGES.get(type(release), Stage)(release, root)
