"""Compose the environment of a turn's agent from spaces: directories of instructions, skills, hooks and servers (Z).

Every function blocks on files. If other work must continue, call it in a thread.
"""

from __future__ import annotations

from codex_adapter.extras import how_to_install

try:
    from codex_adapter.spaces.environment import Environment, Hook, HookEvent, Permissions, Resolved, Server, Skill
    from codex_adapter.spaces.errors import SpaceError
    from codex_adapter.spaces.preparation import Spec, TargetSpec, prepare, resolve
    from codex_adapter.spaces.reach import Reach
except ModuleNotFoundError as error:
    raise ImportError(f"packages for turns are missing. {how_to_install('turns')}") from error

__all__ = [
    "Environment",
    "Hook",
    "HookEvent",
    "Permissions",
    "Reach",
    "Resolved",
    "Server",
    "Skill",
    "SpaceError",
    "Spec",
    "TargetSpec",
    "prepare",
    "resolve",
]
