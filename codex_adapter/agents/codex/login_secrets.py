"""Read the secrets with which the CLI logs in, from its home, so that they are masked (X5).

The agent can read these files, and would show them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from codex_adapter.agents.codex.command import home_of_cli
from codex_adapter.agents.codex.dotenv import assignments
from codex_adapter.agents.codex.launch import CodexLaunch
from codex_adapter.core.masking.credentials import secret_values

__all__ = ["login_secrets"]

_SECONDS: Final = 2.0
"""For a file system that does not answer, a run does not wait longer."""
_LARGEST: Final = 1024 * 1024
_DEEPEST: Final = 16
_NOT_SECRET: Final = frozenset({"auth_mode", "last_refresh"})


async def login_secrets(launch: CodexLaunch) -> tuple[str, ...]:
    """Return the tokens of `auth.json` and the credentials of `.env` in the run's CODEX_HOME; empty without any."""
    home = home_of_cli(launch.env)
    if home is None:
        return ()
    try:
        with trio.move_on_after(_SECONDS):
            return await trio.to_thread.run_sync(_secrets, Path(launch.cwd, home), launch, abandon_on_cancel=True)
    except (OSError, RuntimeError):  # no thread could be started
        return ()
    return ()


def _secrets(home: Path, launch: CodexLaunch) -> tuple[str, ...]:
    named = {f"auth.json {number}": text for number, text in enumerate(_strings(_json(_read(home / "auth.json"))))}
    values = list(secret_values(named, named, directory=launch.cwd).values)
    for name, value in assignments(_read(home / ".env").decode("utf-8-sig", "replace"), launch.env):
        values += secret_values({name: value}, directory=launch.cwd).values
    return tuple(dict.fromkeys(values))


def _read(path: Path) -> bytes:
    """Return a file of a sensible size; nothing of anything else, which is not waited for."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a device is not even opened
            return b""
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return b""
            content = file.read(_LARGEST + 1)
    except (OSError, ValueError):
        return b""
    return content if len(content) <= _LARGEST else b""


def _json(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return None


def _strings(value: Any, depth: int = _DEEPEST) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in _NOT_SECRET:
                yield from _strings(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _strings(inner, depth - 1)
