"""Read the files of users strictly and within bounds, with errors that name the key and never the value (Z1)."""

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
    "read_optional",
    "read_text",
    "read_toml",
    "resolve_path",
]

LARGEST_TEXT: Final = 1024 * 1024
"""The limit of a file in a format other than TOML, in bytes."""
LARGEST_TOML: Final = 64 * 1024
"""The limit of a TOML file, in bytes."""
_MOST_DOTS: Final = 500
"""The limit of a line: the time to parse a key is quadratic in the number of its parts."""
_T = TypeVar("_T")


def read_toml(content: bytes, type_: type[_T], name: str) -> _T:
    """Decode a TOML file as a type. Errors use `name` for the file. Raises `SpaceError` (Z1)."""
    text = read_text(content, name)
    if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        raise SpaceError(f"{name}: a line has more than {_MOST_DOTS} dots. Split it into several lines.")
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpaceError(f"{name} is not valid TOML{in_line(error)}. Fix it.") from None
    try:
        return msgspec.convert(tables, type_)
    except msgspec.ValidationError as error:
        raise SpaceError(f"{name}: {problem(error)}") from None


def read_json(content: bytes, type_: type[_T], name: str) -> _T:
    """Decode a JSON file as a type. Errors use `name` for the file. Raises `SpaceError` (Z1)."""
    text = read_text(content, name)
    try:
        value = msgspec.json.decode(text, type=type_)
        json.loads(text, object_pairs_hook=lambda pairs: _require_once([key for key, _ in pairs], name))
    except msgspec.ValidationError as error:
        raise SpaceError(f"{name}: {problem(error)}") from None
    except (ValueError, RecursionError):
        raise SpaceError(f"{name} is not valid JSON. Fix it.") from None
    return value


def read_text(content: bytes, name: str) -> str:
    """Decode UTF-8 with or without a byte order mark. Errors use `name` for the file. Raises `SpaceError`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SpaceError(f"{name} is not UTF-8. Save it as UTF-8.") from None


def read_optional(path: Path, limit: int, name: str) -> bytes | None:
    """Read a file outside of a space; None if it does not exist. Errors use `name` for it. Raises `SpaceError`."""
    try:
        return read_regular(path, limit)
    except TooLargeError:
        raise SpaceError(f"{name} is larger than {limit} bytes. Make it smaller.") from None
    except NotRegularError:
        raise SpaceError(f"{name} is not a regular file. Replace it by a file.") from None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None


def has_hard_links(path: Path) -> bool:
    """Return whether the file at this path, if it exists, has hard links."""
    try:
        return path.stat().st_nlink > 1
    except (OSError, ValueError):
        return False


def resolve_path(path: str | os.PathLike[str], name: str) -> Path:
    """Return a path with its links followed. Errors use `name` for it. Raises `SpaceError`."""
    try:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            Path(path).stat()  # fails for too many links, which `realpath` follows
        return Path(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None


def _require_once(keys: list[str], name: str) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise SpaceError(f"{name}: the key '{shown(key)}' occurs twice. Remove one.")
        seen.add(key)
