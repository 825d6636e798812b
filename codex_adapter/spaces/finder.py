"""Find the space of a reference: in the registry, at a path, or in the project (Z3, Z8)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from codex_adapter.spaces.acceptance import Source
from codex_adapter.spaces.errors import SpaceError, unreadable
from codex_adapter.spaces.file_readers import LARGEST_TOML, has_hard_links, read_optional, resolve_path
from codex_adapter.spaces.references import PathReference, RegistryReference, parse_reference
from codex_adapter.spaces.tags import read_tags
from codex_adapter.spaces.version_locks import Locked
from codex_adapter.spaces.versions import DEV, choose_version, is_version

__all__ = ["Finder", "Found"]

_MOST_NAMES: Final = 100_000


class Found(NamedTuple):
    """The place of a space, and the id, version and digest that it must have.

    `named` is the path by which it was looked up. It leads to `directory`, perhaps by links. `id` and `version` are
    None if any is allowed. `digest` is set for a locked version.
    """

    directory: Path
    named: Path
    id: str | None = None
    version: str | None = None
    digest: str | None = None


class Finder:
    """Find spaces for one spec. A reference that is locked, or was found before, has the same result again (Z8).

    `files` are the tag files that were read.
    """

    def __init__(self, asp_home: Path, project: Path | None, locked: Mapping[str, Locked]) -> None:
        self._registry = asp_home / "registry"
        self._project = project
        self._locked = locked
        self._versions: dict[str, Found] = {}
        self.files: Final[list[Source]] = []

    def find(self, reference: str, base: Path | None) -> Found:
        """Find a space. `base` is the directory of the space or target that refers to it. Raises `SpaceError` (Z3)."""
        meant = parse_reference(reference)
        if isinstance(meant, RegistryReference):
            return self._versions.get(reference) or self._find_in_registry(reference, meant)
        if isinstance(meant, PathReference):
            if base is None and not meant.path.startswith("/"):
                raise SpaceError("a relative path needs a target. Write an absolute path.")
            return _make_found(Path(base or "/", meant.path))
        if self._project is None:
            raise SpaceError("a reference to a project needs a target. Write the directory as space:path:DIR.")
        return _make_found(self._project / "spaces" / meant.id, meant.id)

    def locks(self, digests: Mapping[str, str]) -> dict[str, Locked]:
        """Return the version of each reference to the registry. `digests` maps ids to digests (Z8)."""
        return {
            reference: Locked(version=found.version, digest=digests[found.id])
            for reference, found in self._versions.items()
            if found.id is not None and found.version is not None
        }

    def _find_in_registry(self, reference: str, meant: RegistryReference) -> Found:
        place = self._registry / meant.id
        locked = self._locked.get(reference)
        if locked is not None:
            found = _make_found(place / locked.version, meant.id, locked.version, locked.digest)
        else:
            version = choose_version(meant.selector, _list_versions(place), lambda: self._read_tags(place))
            if version == DEV and not os.path.lexists(place / DEV):
                what = "no dev" if meant.selector else "no release and no dev"
                raise SpaceError(f"the registry has {what} of this space. Publish one, or change the reference.")
            found = _make_found(place / version, meant.id, None if version == DEV else version)
        self._versions[reference] = found
        return found

    def _read_tags(self, place: Path) -> dict[str, str]:
        file = place / "tags.toml"
        content = read_optional(file, LARGEST_TOML, file.name)
        digest = hashlib.sha256(content or b"").hexdigest()
        self.files.append(Source(file, digest, has_hard_links(file), f"{file.name} of {place.name}"))
        return {} if content is None else read_tags(content)


def _make_found(named: Path, id_: str | None = None, version: str | None = None, digest: str | None = None) -> Found:
    return Found(resolve_path(named, "its directory"), named, id_, version, digest)


def _list_versions(place: Path) -> frozenset[str]:
    try:
        with os.scandir(place) as entries:
            return frozenset(_yield_version_names(entries))
    except (FileNotFoundError, NotADirectoryError):
        raise SpaceError("the registry does not have this space. Publish it there, or change the reference.") from None
    except OSError as error:
        raise unreadable("its directory in the registry", error) from None


def _yield_version_names(entries: Iterable[os.DirEntry[str]]) -> Iterable[str]:
    for number, entry in enumerate(entries):
        if number >= _MOST_NAMES:
            raise SpaceError(f"its directory in the registry has more than {_MOST_NAMES} names")
        if is_version(entry.name) and entry.is_dir():
            yield entry.name
