"""Lock the versions that a spec first resolved to, so that later turns use the same versions (Z8)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from codex_adapter.spaces.errors import SpaceError, unreadable
from codex_adapter.spaces.file_readers import read_json, read_optional
from codex_adapter.spaces.state import State
from codex_adapter.spaces.versions import is_version

__all__ = ["Lock", "Locked", "make_lock_name", "read_locked_digests"]

_LARGEST: Final = 16 * 1024 * 1024
_DIGEST: Final = re.compile(rb"[0-9a-f]{64}")


class Locked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The version to which a reference to the registry resolved, and the digest of its content."""

    version: str
    digest: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class _LockFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schema: Literal[1]
    spaces: dict[str, Locked]


def make_lock_name(references: Sequence[str], target: tuple[str, Path] | None) -> str:
    """Return the name of a spec's lock: a digest of the references, and of the target's name and directory (Z8)."""
    about = [list(references), None if target is None else [target[0], str(target[1])]]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


def read_locked_digests(state: State) -> frozenset[str]:
    """Return all digests in all lock files, damaged ones included. Raises `SpaceError` (Z10)."""
    try:
        paths = [path for path in state.locks.iterdir() if path.suffix == ".json"]
    except OSError as error:
        raise unreadable("aspHome: state/locks", error) from None
    contents = (read_optional(path, _LARGEST, f"aspHome: state/locks/{path.name}") for path in paths)
    return frozenset(digest.decode() for content in contents for digest in _DIGEST.findall(content or b""))


class Lock:
    """The lock of one spec."""

    def __init__(self, state: State, name: str) -> None:
        self._state = state
        self._path = state.locks / f"{name}.json"

    def read(self) -> dict[str, Locked]:
        """Return the locked versions by their references; empty before the first turn. Raises `SpaceError` (Z8)."""
        name = f"aspHome: state/locks/{self._path.name}"
        content = read_optional(self._path, _LARGEST, name)
        if content is None:
            return {}
        spaces = read_json(content, _LockFile, name).spaces
        if not all(is_version(locked.version) for locked in spaces.values()):
            raise SpaceError(f"{name}: the key 'version' is not a version. Remove the file to lock again.")
        return spaces

    def add(self, known: Mapping[str, Locked], found: Mapping[str, Locked]) -> bool:
        """Add `found` to the locked versions. Return False if the lock is no longer equal to `known`.

        Raises `SpaceError` (Z8, Z9).
        """
        if found.items() <= known.items():
            return True
        with self._state.exclusive():
            if self.read() != known:
                return False
            file = _LockFile(schema=1, spaces=dict(sorted({**found, **known}.items())))
            self._state.write_whole(self._path, msgspec.json.format(msgspec.json.encode(file)) + b"\n")
            return True
