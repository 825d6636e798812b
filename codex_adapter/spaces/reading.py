"""Reading the files that people write: bounded, strict, and with errors that name the key and never a value (Z1)."""

from __future__ import annotations

import json
import os
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from codex_adapter.safe_read import NotRegularError, TooLargeError, read_regular
from codex_adapter.spaces.errors import SpaceError, unreadable
from codex_adapter.strict_decode import in_line, problem, shown

__all__ = [
    "LARGEST_TEXT",
    "LARGEST_TOML",
    "has_hard_links",
    "read_json",
    "read_standing",
    "read_text",
    "read_toml",
    "real_path",
]

LARGEST_TEXT: Final = 1024 * 1024
"""Bytes of a file in another form than TOML."""
LARGEST_TOML: Final = 64 * 1024
"""Bytes of a file in TOML."""
_MOST_DOTS: Final = 500
"""On a line: a key of many parts takes the square of their number in time."""
_T = TypeVar("_T")


def read_toml(content: bytes, type_: type[_T], name: str) -> _T:
    """A TOML file as a type; `name` is how errors call it. Raises `SpaceError` (Z1)."""
    text = read_text(content, name)
    if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        raise SpaceError(f"{name}: a line has more than {_MOST_DOTS} dots; break it into several")
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpaceError(f"{name} is no TOML{in_line(error)}; mend it") from None
    try:
        return msgspec.convert(tables, type_)
    except msgspec.ValidationError as error:
        raise SpaceError(f"{name}: {problem(error)}") from None


def read_json(content: bytes, type_: type[_T], name: str) -> _T:
    """A JSON file as a type; `name` is how errors call it. Raises `SpaceError` (Z1)."""
    text = read_text(content, name)
    try:
        value = msgspec.json.decode(text, type=type_)
        json.loads(text, object_pairs_hook=lambda pairs: _require_once([key for key, _ in pairs], name))
    except msgspec.ValidationError as error:
        raise SpaceError(f"{name}: {problem(error)}") from None
    except (ValueError, RecursionError):
        raise SpaceError(f"{name} is no JSON; mend it") from None
    return value


def read_text(content: bytes, name: str) -> str:
    """UTF-8, perhaps behind a byte order mark; `name` is how errors call it. Raises `SpaceError`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SpaceError(f"{name} is not UTF-8; save it so") from None


def read_standing(path: Path, limit: int, name: str) -> bytes | None:
    """A file that stands by itself, None where there is none; `name` is how errors call it. Raises `SpaceError`."""
    try:
        return read_regular(path, limit)
    except TooLargeError:
        raise SpaceError(f"{name} is larger than {limit} bytes") from None
    except NotRegularError:
        raise SpaceError(f"{name} is no regular file") from None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None


def has_hard_links(path: Path) -> bool:
    """Whether the file that is found by this path, if any, has another name."""
    try:
        return path.stat().st_nlink > 1
    except (OSError, ValueError):
        return False


def real_path(path: str | os.PathLike[str], name: str) -> Path:
    """Where a path leads by links; `name` is how errors call it. Raises `SpaceError`."""
    try:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            Path(path).stat()  # more links than the system follows `realpath` follows, or takes for nothing
        return Path(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None


def _require_once(keys: list[str], name: str) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise SpaceError(f"{name}: the key '{shown(key)}' is there twice")
        seen.add(key)
