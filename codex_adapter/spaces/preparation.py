"""Resolve a spec to an environment, or prepare it for a turn with copies and locked versions (Z5, Z7, Z8, Z9)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from codex_adapter.spaces.acceptance import Acceptance, Source
from codex_adapter.spaces.composition import compose
from codex_adapter.spaces.content import is_utf8, read_content
from codex_adapter.spaces.dependencies import Loaded, Space, order_spaces
from codex_adapter.spaces.environment import Environment
from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.file_readers import has_hard_links, resolve_path
from codex_adapter.spaces.finder import Finder, Found
from codex_adapter.spaces.reach import Reach
from codex_adapter.spaces.space_files import read_space
from codex_adapter.spaces.state import State
from codex_adapter.spaces.store import Store
from codex_adapter.spaces.targets import TARGETS_FILE, HarnessSettings, find_target
from codex_adapter.spaces.version_locks import Lock, Locked, make_lock_name

__all__ = ["Spec", "TargetSpec", "prepare", "resolve"]

_MOST_TRIES: Final = 100


class TargetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A target of the `asp-targets.toml` in a directory, whose path is absolute (Z4)."""

    name: str
    directory: str


Spec: TypeAlias = Sequence[str] | TargetSpec
"""A list of references, or a target with such a list."""

Writable: TypeAlias = Callable[[Environment], Sequence[str]]
"""Returns the directories in which the agent of an environment may write."""


def resolve(
    asp_home: str | os.PathLike[str], spec: Spec, harness: str | None = None, *, accept: bool = False
) -> Environment:
    """Return the current environment of a spec, with the directories of the spaces themselves. Write nothing.

    `harness` selects the target's settings. With `accept`, content that agents may have changed is used. Raises
    `SpaceError`. Blocks on files (Z5, Z6, Z9, Z11).
    """
    return _Preparation(asp_home, spec).resolve(harness, accept=accept)


def prepare(
    asp_home: str | os.PathLike[str],
    spec: Spec,
    harness: str | None = None,
    *,
    writable: Writable = lambda _: (),
    accept: bool = False,
) -> Environment:
    """Return the environment of a spec for a turn: with copies of the spaces, in locked versions.

    `harness` selects the target's settings. With `accept`, content that agents may have changed is accepted from now
    on. Raises `SpaceError`. Blocks on files, and on other processes that write below `asp_home` (Z7, Z8, Z11).
    """
    return _Preparation(asp_home, spec).prepare(harness, writable, accept=accept)


class _Preparation:
    """A spec under an `aspHome`."""

    def __init__(self, asp_home: str | os.PathLike[str], spec: Spec) -> None:
        self._named_home = Path(os.fspath(asp_home))
        self._asp_home = _resolve_absolute(os.fspath(asp_home), "aspHome")
        if not is_utf8(os.fspath(self._asp_home)):  # harnesses write it to files in UTF-8
            raise SpaceError("the path of aspHome is not UTF-8. Rename its directories.")
        state = State(self._asp_home)
        state.refuse_links()
        self._state = state.root
        self._store = Store(state)
        self._acceptance = Acceptance(state)
        self._files: list[Source] = []
        self._base: Path | None = None
        self._harnesses: dict[str, HarnessSettings] = {}
        if isinstance(spec, TargetSpec):
            self._base = _resolve_absolute(spec.directory, "the target's directory")
            target, digest = find_target(self._base, spec.name)
            file = Path(spec.directory, TARGETS_FILE)
            self._files.append(Source(file, digest, has_hard_links(file), TARGETS_FILE))
            self._harnesses = target.harness
            self._references: Sequence[str] = target.compose
            name = make_lock_name(target.compose, (spec.name, self._base))
        else:
            self._references = spec
            name = make_lock_name(spec, None)
        self._lock = Lock(state, name)

    def resolve(self, harness: str | None, *, accept: bool) -> Environment:
        finder, spaces = self._order(self._lock.read())
        if not accept:
            self._acceptance.check(self._list_sources(finder, spaces))
        return self._compose(spaces, harness)

    def prepare(self, harness: str | None, writable: Writable, *, accept: bool) -> Environment:
        for _ in range(_MOST_TRIES):
            known = self._lock.read()
            finder, spaces = self._order(known)
            reach = Reach.into(writable(self._compose(spaces, harness)))
            self._refuse_writable_state(reach)
            self._acceptance.settle(self._list_sources(finder, spaces), reach, accept=accept)
            spaces = list(map(self._copy, spaces))
            if self._lock.add(known, finder.locks({it.loaded.files.manifest.id: it.loaded.digest for it in spaces})):
                return self._compose(spaces, harness)
        raise SpaceError("other processes keep changing the lock of this spec. Try again.")

    def _list_sources(self, finder: Finder, spaces: Sequence[Space]) -> list[Source]:
        found = [Source(it.found.named, it.loaded.digest, it.loaded.linked, "", it.reference, it.way) for it in spaces]
        return [*self._files, *finder.files, *found]

    def _refuse_writable_state(self, reach: Reach) -> None:
        """Raise `SpaceError` if an agent could change copies and records. Such changes cannot be detected (Z11)."""
        if reach.covers(self._named_home / "state"):
            raise SpaceError(
                "aspHome is in a directory where the agent may write, so the agent could change what later turns run. "
                "Choose another aspHome or cwd, or other permissions."
            )

    def _order(self, known: Mapping[str, Locked]) -> tuple[Finder, list[Space]]:
        finder = Finder(self._asp_home, self._base, known)
        return finder, order_spaces(self._references, self._base, finder.find, self._load)

    def _load(self, found: Found) -> Loaded:
        source = found.directory
        if found.digest is not None and not os.path.lexists(source):  # no longer in the registry
            source = self._store.directory(found.digest)
            content = self._store.content(found.digest)
            if content is None:
                raise SpaceError(
                    f"version {found.version} is locked, but its content is not available any more. "
                    "Publish the same content again."
                )
        else:
            if self._state.is_relative_to(source):
                raise SpaceError("it contains aspHome, so it would contain its own copies. Move one of them.")
            content = read_content(source)
        return Loaded(read_space(content.kept), content.digest, source, source, content.linked)

    def _copy(self, space: Space) -> Space:
        try:
            directory = self._store.keep(space.loaded.source, space.loaded.digest)
        except SpaceError as error:
            raise SpaceError(error.problem, space.reference, space.way) from None
        return space._replace(loaded=space.loaded._replace(directory=directory))

    def _compose(self, spaces: Sequence[Space], harness: str | None) -> Environment:
        return compose(spaces, None if harness is None else self._harnesses.get(harness))


def _resolve_absolute(path: str, what: str) -> Path:
    try:
        os.fsencode(path)
    except ValueError:
        path = ""
    if not path.startswith("/") or "\0" in path:
        raise SpaceError(f"{what} is not an absolute path")
    return resolve_path(path, what)
