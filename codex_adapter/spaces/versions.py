"""Choose a version of a space by a selector (Z3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from semantic_version import NpmSpec, Version

from codex_adapter.spaces.errors import SpaceError
from codex_adapter.strict_decode import shown

__all__ = ["DEV", "TAG", "choose_version", "is_version", "require_selector"]

DEV: Final = "dev"
"""The selector, and the directory, of a space under development, which has no version."""
TAG: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}", re.ASCII)
_NUMBER: Final = r"(0|[1-9][0-9]{0,15})"
_VERSION: Final = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?", re.ASCII)
_RANGE: Final = re.compile(r"[0-9A-Za-z.*^~<>=| -]+", re.ASCII)
_LONGEST: Final = 128


def is_version(text: str) -> bool:
    """Return whether this is a semantic version. Build metadata is refused, because it has no order (Z1)."""
    return _parse_version(text) is not None


def require_selector(selector: str) -> None:
    """Raise `SpaceError` if a text is not a selector (Z3)."""
    if selector == DEV or is_version(selector) or _parse_range(selector) or TAG.fullmatch(selector):
        return
    raise SpaceError("the text after '@' is not a selector. Write dev, a version, a range like ^1.2, or a tag.")


def choose_version(selector: str | None, available: Collection[str], tags: Callable[[], Mapping[str, str]]) -> str:
    """Return the version that a selector chooses, or `DEV`. `tags` is called for a tag only.

    Raises `SpaceError` if the selector matches no version (Z3).
    """
    if selector == DEV:
        return DEV
    if selector is None:
        return _find_highest(version for version in available if not Version(version).prerelease) or DEV
    if is_version(selector):
        if selector in available:
            return selector
        raise SpaceError("the registry does not have this version. Publish it, or choose another version.")
    spec = _parse_range(selector)
    if spec is not None:
        found = _find_highest(version for version in available if Version(version) in spec)
        if found is None:
            raise SpaceError("the registry has no version in this range. Publish one, or choose another range.")
        return found
    tagged = tags().get(selector)
    if tagged is None:
        raise SpaceError("tags.toml does not have this tag. Add it, or choose a version.")
    if tagged not in available:
        raise SpaceError(f"tags.toml: the registry does not have the version of tag '{shown(selector)}'. Fix the tag.")
    return tagged


def _parse_version(text: str) -> Version | None:
    if len(text) > _LONGEST or not _VERSION.fullmatch(text):
        return None
    try:
        return Version(text)
    except ValueError:
        return None


def _parse_range(selector: str) -> NpmSpec | None:
    if len(selector) > _LONGEST or not _RANGE.fullmatch(selector) or selector != selector.strip():
        return None
    try:
        return NpmSpec(selector)
    except (ValueError, AttributeError):  # it raises AttributeError for ' - ' without two versions
        return None


def _find_highest(versions: Iterable[str]) -> str | None:
    return max(versions, key=Version, default=None)
