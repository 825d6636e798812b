"""Spaces: what a turn's agent is to know and to have, composed of directories that people write (Z).

Everything here blocks on files; who serves others meanwhile calls it in a thread.
"""

from __future__ import annotations

from codex_adapter.spaces.environment import Environment, Hook, HookEvent, Permissions, Resolved, Server, Skill
from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.preparation import Spec, TargetSpec, prepare, resolve

__all__ = [
    "Environment",
    "Hook",
    "HookEvent",
    "Permissions",
    "Resolved",
    "Server",
    "Skill",
    "SpaceError",
    "Spec",
    "TargetSpec",
    "prepare",
    "resolve",
]
