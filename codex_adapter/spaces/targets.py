"""Read the targets of `asp-targets.toml` (Z4)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, Literal

import msgspec

from codex_adapter.spaces.environment import Permissions
from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.file_readers import LARGEST_TOML, read_optional, read_toml
from codex_adapter.spaces.space_files import Table, Word
from codex_adapter.strict_decode import shown

__all__ = ["TARGETS_FILE", "HarnessSettings", "Target", "find_target", "read_targets"]

TARGETS_FILE: Final = "asp-targets.toml"


class HarnessSettings(Table, frozen=True, kw_only=True):
    """`[targets.NAME.harness.ID]` (Z4)."""

    model: Word | None = None
    permissions: Permissions | None = None


class Target(Table, frozen=True, kw_only=True):
    """`[targets.NAME]` (Z4)."""

    compose: tuple[str, ...]
    description: str = ""
    harness: dict[str, HarnessSettings] = msgspec.field(default_factory=dict)


class _Targets(Table, frozen=True, kw_only=True):
    schema: Literal[1]
    targets: dict[str, Target] = msgspec.field(default_factory=dict)


def read_targets(content: bytes) -> dict[str, Target]:
    """Read a targets file. Raises `SpaceError` (Z4)."""
    return read_toml(content, _Targets, TARGETS_FILE).targets


def find_target(directory: Path, name: str) -> tuple[Target, str]:
    """Return a target from the targets file of a directory, and the file's digest. Raises `SpaceError` (Z4)."""
    content = read_optional(directory / TARGETS_FILE, LARGEST_TOML, TARGETS_FILE)
    if content is None:
        raise SpaceError(f"the target's directory has no {TARGETS_FILE}. Create it, or choose another directory.")
    target = read_targets(content).get(name)
    if target is None:
        raise SpaceError(f"{TARGETS_FILE} has no target '{shown(name)}'. Add it, or choose another target.")
    return target, hashlib.sha256(content).hexdigest()
