"""Define the environment of a turn: instructions, skills, hooks, servers and settings of its spaces (Z6)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from typing_extensions import override

__all__ = ["Environment", "Hook", "HookEvent", "Permissions", "Resolved", "Server", "Skill"]

HookEvent: TypeAlias = Literal["session_start", "prompt", "before_tool", "after_tool", "stop"]
Permissions: TypeAlias = Literal["read-only", "workspace-write", "full"]


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """One space of an environment: its reference, its current directory, and the digest of its content (Z5, Z7)."""

    id: str
    version: str | None
    reference: str
    directory: str
    digest: str


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """A directory with a `SKILL.md`; `space` is the id of its space (Z2)."""

    name: str
    description: str
    space: str
    directory: str


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A shell command for an event; `timeout` in seconds, `matcher` a regular expression on tool names (Z2)."""

    name: str
    event: HookEvent
    command: str
    matcher: str | None
    timeout: int
    space: str


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server: a program with `command`, or a running server with `url` (Z2)."""

    name: str
    command: str | None
    args: tuple[str, ...]
    env: dict[str, str]
    cwd: str | None
    url: str | None
    space: str

    @override
    def __repr__(self) -> str:
        """Show nothing: it may be secret (X1)."""
        return "Server(...)"


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The environment of a turn. Each name occurs once; the items are in the order of their spaces (Z6)."""

    spaces: tuple[Resolved, ...]
    instructions: str
    skills: tuple[Skill, ...]
    hooks: tuple[Hook, ...]
    servers: tuple[Server, ...]
    env: dict[str, str]
    model: str | None
    permissions: Permissions | None

    @override
    def __repr__(self) -> str:
        """Show nothing: it may be secret (X1)."""
        return "Environment(...)"
