"""List the agents whose releases the laboratory tests: one row for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .claude.subject import CLAUDE
from .codex.subject import CODEX
from .pi.subject import PI
from .subject import Subject

__all__ = ["SUBJECTS"]

SUBJECTS: Mapping[str, Subject] = MappingProxyType({subject.kind: subject for subject in (CODEX, CLAUDE, PI)})
"""The agents by kind (R2)."""
