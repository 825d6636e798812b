"""Read the tags of `tags.toml`, which are names for versions (Z3)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.file_readers import read_toml
from codex_adapter.spaces.space_files import Table
from codex_adapter.spaces.versions import TAG, is_version
from codex_adapter.strict_decode import shown

__all__ = ["read_tags"]


class _Tags(Table, frozen=True, kw_only=True):
    schema: Literal[1]
    tags: dict[Annotated[str, Meta(pattern=rf"\A{TAG.pattern}\Z")], str] = msgspec.field(default_factory=dict)


def read_tags(content: bytes) -> dict[str, str]:
    """Return the versions of `tags.toml` by their tags. Raises `SpaceError` (Z3)."""
    tags = read_toml(content, _Tags, "tags.toml").tags
    for tag, version in tags.items():
        if not is_version(version):
            raise SpaceError(f"tags.toml: the key 'tags.{shown(tag)}' is not a version. Fix it.")
    return tags
