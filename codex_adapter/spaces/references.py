"""Parse references to spaces (Z3)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.versions import require_selector

__all__ = ["ID", "PathReference", "ProjectReference", "Reference", "RegistryReference", "parse_reference"]

ID: Final = r"[a-z][a-z0-9-]{0,63}"
_LONGEST: Final = 4096
_IMPOSSIBLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_PREFIX: Final = "space:"
_NAMED: Final = re.compile(rf"(?P<project>project:)?(?P<id>{ID})(?P<selected>@(?P<selector>.*))?", re.ASCII)


class RegistryReference(NamedTuple):
    """`space:ID` and `space:ID@SELECTOR`: a space of the registry."""

    id: str
    selector: str | None


class PathReference(NamedTuple):
    """`space:path:DIR`: a directory, absolute or relative to the directory of the space or target that refers to it."""

    path: str


class ProjectReference(NamedTuple):
    """`space:project:ID`: a space below the directory of the target."""

    id: str


Reference: TypeAlias = RegistryReference | PathReference | ProjectReference


def parse_reference(text: str) -> Reference:
    """Parse a reference. Read no files. Raises `SpaceError` (Z3)."""
    if len(text) > _LONGEST or _IMPOSSIBLE.search(text):
        raise SpaceError("a reference must be one line of at most 4096 characters")
    if not text.startswith(_PREFIX):
        raise SpaceError("a reference must begin with 'space:'")
    body = text.removeprefix(_PREFIX)
    if body.startswith("path:"):
        path = body.removeprefix("path:")
        if not path:
            raise SpaceError("a directory is missing after 'space:path:'")
        return PathReference(path)
    named = _NAMED.fullmatch(body)
    if named is None:
        raise SpaceError("a reference must be space:ID, space:ID@SELECTOR, space:path:DIR or space:project:ID")
    if named["project"]:
        if named["selected"]:
            raise SpaceError("a space of the project has no versions. Remove '@' and the selector after it.")
        return ProjectReference(named["id"])
    if named["selected"]:
        require_selector(named["selector"])
    return RegistryReference(named["id"], named["selector"])
