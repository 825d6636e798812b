"""Read the secrets in the login files of an agent CLI (X5).

The agent can read these files and print them, so their strings are masked in the output of a run.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from codex_adapter.core.checks import printable
from codex_adapter.core.masking.credentials import secret_values

__all__ = ["environment_secrets", "read_in_time", "read_json", "read_login_file", "strings_to_mask"]

_log = logging.getLogger("codex_adapter")
_SECONDS: Final = 2.0
"""How long a run waits for a file system that does not answer."""
_LARGEST: Final = 1024 * 1024
_DEEPEST: Final = 16


def environment_secrets(env: Mapping[str, str], mask: Sequence[str], cwd: str, *, log: bool) -> tuple[str, ...]:
    """Return the secrets of an environment, those of the variables in `mask` included.

    With `log`, log the name of each variable whose value cannot be masked. The level is a warning if the caller
    requested the mask. (X6)
    """
    found = secret_values(env, mask, directory=cwd)
    for name, why, named in found.refused if log else ():
        level = logging.WARNING if named else logging.DEBUG
        _log.log(level, "the value of %s is not masked: %s", printable(name), why)
    return tuple(found.values)


async def read_in_time(read: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
    """Return what `read` returns in a thread, nothing if it fails or takes too long."""
    try:
        with trio.move_on_after(_SECONDS):
            return await trio.to_thread.run_sync(read, abandon_on_cancel=True)
    except (OSError, RuntimeError):  # no thread could be started
        return ()
    return ()


def strings_to_mask(value: Any, cwd: str, *, not_secret: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return each string of a JSON value that can be masked, but those of the members named in `not_secret`."""
    named = {f"login {number}": text for number, text in enumerate(_strings(value, not_secret))}
    return tuple(secret_values(named, named, directory=cwd).values)


def read_json(path: Path) -> Any:
    """Return the JSON value of a login file, None if it has none."""
    try:
        return msgspec.json.decode(read_login_file(path))
    except (msgspec.DecodeError, RecursionError):
        return None


def read_login_file(path: Path) -> bytes:
    """Return the content of a regular file within the size limit, else empty. Do not block on other files."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # do not open a device
            return b""
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return b""
            content = file.read(_LARGEST + 1)
    except (OSError, ValueError):
        return b""
    return content if len(content) <= _LARGEST else b""


def _strings(value: Any, not_secret: frozenset[str], depth: int = _DEEPEST) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in not_secret:
                yield from _strings(inner, not_secret, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _strings(inner, not_secret, depth - 1)
