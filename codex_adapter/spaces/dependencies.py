"""Order spaces by their dependencies: each once, after the spaces that it needs (Z5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.finder import Found
from codex_adapter.spaces.space_files import SpaceFiles
from codex_adapter.strict_decode import shown

__all__ = ["MOST_SPACES", "Loaded", "Space", "order_spaces"]

MOST_SPACES: Final = 200
"""The limit of one environment."""


class Loaded(NamedTuple):
    """A space that was read.

    Its own references are relative to `source`. The environment uses `directory`. `linked` is whether a file has hard
    links.
    """

    files: SpaceFiles
    digest: str
    source: Path
    directory: Path
    linked: bool = False


class Space(NamedTuple):
    """A space, with the first reference that led to it, and the ids of the spaces on the way to it."""

    reference: str
    way: tuple[str, ...]
    found: Found
    loaded: Loaded


def order_spaces(
    references: Iterable[str],
    base: Path | None,
    find: Callable[[str, Path | None], Found],
    load: Callable[[Found], Loaded],
) -> list[Space]:
    """Return all spaces that the references lead to, each after the spaces that it depends on.

    `find` gets a reference, and the directory that a path in it is relative to. `load` is called once for each space.
    Raises `SpaceError`, which names the reference and the way to it (Z5).
    """
    order = _Order(find, load)
    for reference in references:
        order.visit(reference, base, ())
    return order.spaces


class _Order:
    """One walk through the dependencies."""

    def __init__(self, find: Callable[[str, Path | None], Found], load: Callable[[Found], Loaded]) -> None:
        self.spaces: Final[list[Space]] = []
        self._find = find
        self._load = load
        self._by_directory: dict[Path, Space] = {}
        self._by_id: dict[str, Space] = {}

    def visit(self, reference: str, base: Path | None, way: tuple[str, ...]) -> None:
        try:
            space = self._find_new(reference, base, way)
        except SpaceError as error:
            raise SpaceError(error.problem, reference, way) from None
        if space is None:
            return
        manifest = space.loaded.files.manifest
        for dependency in manifest.deps:
            self.visit(dependency, space.loaded.source, (*way, manifest.id))
        self.spaces.append(space)

    def _find_new(self, reference: str, base: Path | None, way: tuple[str, ...]) -> Space | None:
        """Return the space of a reference; None if an earlier reference led to it."""
        found = self._find(reference, base)
        before = self._by_directory.get(found.directory)
        if before is not None:
            _require_match(before.loaded, found)
            if before.loaded.files.manifest.id in way:
                raise SpaceError("it depends on itself. Remove one of the dependencies on this way.")
            return None
        if len(self._by_directory) >= MOST_SPACES:
            raise SpaceError(f"there are more than {MOST_SPACES} spaces. Compose fewer spaces.")
        space = Space(reference, way, found, self._load(found))
        _require_match(space.loaded, found)
        other = self._by_id.setdefault(space.loaded.files.manifest.id, space)
        if other is not space:
            raise _conflict(space, other)
        self._by_directory[found.directory] = space
        return space


def _require_match(loaded: Loaded, found: Found) -> None:
    manifest = loaded.files.manifest
    if found.id not in (None, manifest.id):
        raise SpaceError("space.toml: the key 'id' is not the id of its directory. Change one of them.")
    if found.version not in (None, manifest.version):
        raise SpaceError("space.toml: the key 'version' is not the version of its directory. Change one of them.")
    if found.digest not in (None, loaded.digest):
        raise SpaceError("the content of this version changed after it was locked. Publish it as a new version.")


def _conflict(space: Space, other: Space) -> SpaceError:
    id_, reference = space.loaded.files.manifest.id, shown(other.reference)
    if None not in (space.found.version, other.found.version):
        versions = f"{space.found.version} and, by {reference}, {other.found.version}"
        return SpaceError(f"there are two versions of '{id_}', {versions}. Choose one for both.")
    return SpaceError(f"there are two places of '{id_}', this one and the one of {reference}. Choose one for both.")
