"""Build environments for the tests of harnesses."""

from __future__ import annotations

from typing import Any

import msgspec

from codex_adapter.spaces import Environment, Hook, Server, Skill

__all__ = ["EMPTY", "a_hook", "a_server", "a_skill", "environment"]

EMPTY = Environment(spaces=(), instructions="", skills=(), hooks=(), servers=(), env={}, model=None, permissions=None)


def environment(**fields: Any) -> Environment:
    """An empty one, but for these fields."""
    return msgspec.structs.replace(EMPTY, **fields)


def a_skill(directory: object, name: str = "greeting") -> Skill:
    """A skill in this directory."""
    return Skill(name=name, description="How one greets.", space="one", directory=str(directory))


def a_hook(event: Any = "before_tool", command: str = "true", matcher: str | None = None, timeout: int = 60) -> Hook:
    """A hook."""
    return Hook(name="note", event=event, command=command, matcher=matcher, timeout=timeout, space="one")


def a_server(**fields: Any) -> Server:
    """A server that is a program."""
    values = {"name": "one", "command": "serve", "args": ("-x",), "env": {"A": "1"}, "cwd": None, "url": None}
    return Server(**{**values, **fields}, space="one")
