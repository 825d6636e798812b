"""Read the secrets in the login files of an agent CLI (X5).

The agent can read these files and print them, so their strings are masked in the output of a run.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from codex_adapter.core.checks import printable
from codex_adapter.core.masking.credentials import secret_values

__all__ = [
    "environment_secrets",
    "quoted_strings",
    "read_in_time",
    "read_json",
    "read_login_file",
    "read_secrets",
    "strings_to_mask",
    "with_and_without_schemes",
]

_log = logging.getLogger("codex_adapter")
_SECONDS: Final = 2.0
"""How long a run waits for a file system that does not answer."""
_LARGEST: Final = 1024 * 1024
_DEEPEST: Final = 16
# Each alternative matches wherever it begins, so that no text is searched twice.
_STRING: Final = re.compile(r"""(?P<string>(?:"(?:[^"\\\n]|\\.?)*+|'[^'\n]*+)(?:["']|(?=\n)|\Z))(?P<colon>[ \t]*+:)?""")
_COMMENT: Final = re.compile(r""""(?:[^"\\\n]|\\.?)*+(?:"|(?=\n)|\Z)|//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)""")
_LAST_COMMA: Final = re.compile(r""""(?:[^"\\\n]|\\.?)*+(?:"|(?=\n)|\Z)|,(?=\s*+[\]}])""")


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


def with_and_without_schemes(secrets: Sequence[str], cwd: str) -> tuple[str, ...]:
    """Return secrets of headers, and each also without the scheme before it, such as `Bearer`."""
    return tuple(dict.fromkeys([*secrets, *strings_to_mask([text.rpartition(" ")[2] for text in secrets], cwd)]))


def read_json(path: Path) -> Any:
    """Return the JSON value of a file, None if it has none.

    As the CLIs do, ignore a byte order mark, comments, commas at the end of a list, and bytes that are not UTF-8.
    """
    return _decode(read_login_file(path))


def read_secrets(path: Path) -> Any:
    """Return the JSON value of a file with secrets, None if it is empty or does not exist.

    If it cannot be read as JSON, return all its quoted strings but the names of members, and log a warning: the CLI may
    read it all the same.
    """
    content = read_login_file(path)
    value = _decode(content)
    return quoted_strings(path, content) if value is None else value


def quoted_strings(path: Path, content: bytes, *, level: int = logging.WARNING) -> list[str]:
    """Return all quoted strings of a file that cannot be read, and log that at this level if it has any."""
    matches = _STRING.finditer(content.decode("utf-8", "replace"))
    found = [text for match in matches if not match["colon"] for text in _spellings(match["string"])]
    if found:
        _log.log(level, "%s cannot be read: all its quoted strings are masked", printable(path.name))
    return found


def _spellings(quoted: str) -> Iterator[str]:
    import json  # noqa: PLC0415 - few files need it, and each run would wait for it

    yield quoted[1:].removesuffix(quoted[0])
    with suppress(ValueError):
        yield str(json.loads(quoted))


def _decode(content: bytes) -> Any:
    if not content:
        return None
    with suppress(msgspec.DecodeError, RecursionError):
        return msgspec.json.decode(content)
    import json  # noqa: PLC0415 - as above: unlike msgspec, it takes lone surrogates

    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    for noise in (_COMMENT, _LAST_COMMA):
        text = noise.sub(lambda match: match[0] if match[0].startswith('"') else " ", text)
    with suppress(ValueError, RecursionError):
        return json.loads(text)
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
        yield value.encode("utf-8", "ignore").decode()  # without lone surrogates
    elif depth and isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in not_secret:
                yield from _strings(inner, not_secret, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _strings(inner, not_secret, depth - 1)
