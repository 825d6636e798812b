"""Read the files of a space: space.toml, AGENTS.md, hooks.toml, mcp.json and skills (Z1, Z2)."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Mapping
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from codex_adapter.spaces.environment import HookEvent, Permissions
from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.file_readers import read_json, read_text, read_toml
from codex_adapter.spaces.front_matter import read_front_matter
from codex_adapter.spaces.references import ID
from codex_adapter.spaces.versions import is_version
from codex_adapter.strict_decode import shown

__all__ = [
    "HookLine",
    "Manifest",
    "ServerLine",
    "Settings",
    "SpaceFiles",
    "Table",
    "Word",
    "read_space",
]

Text = Annotated[str, Meta(pattern=r"\A[^\x00]*\Z")]
"""The text of an argument or a variable."""
_LINE: Final = r"\A[^\S\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*\Z"
Word = Annotated[str, Meta(pattern=_LINE)]
"""One line, not blank. No character matches two parts of the pattern, because that would take quadratic time."""
Pattern = Annotated[str, Meta(pattern=_LINE, max_length=1000)]
Variable = Annotated[str, Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*\Z")]
Name = Annotated[str, Meta(pattern=r"\A[a-z0-9][a-z0-9_-]{0,63}\Z")]
ServerName = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_]{0,31}\Z")]
_SKILL: Final = re.compile(r"skills/(?P<name>[^/]+)/SKILL\.md")
_SKILL_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
_WARNINGS: Final = threading.Lock()
"""A lock, because all threads share the filters of warnings."""
_TOOLS: Final = ("before_tool", "after_tool")


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table whose unknown keys are refused (Z1)."""


class Settings(Table, frozen=True, kw_only=True):
    """`[settings]` of a space."""

    env: dict[Variable, Text] = {}
    model: Word | None = None
    permissions: Permissions | None = None


class Manifest(Table, frozen=True, kw_only=True):
    """`space.toml` (Z1)."""

    schema: Literal[1]
    id: Annotated[str, Meta(pattern=rf"\A{ID}\Z")]
    version: str | None = None
    description: str = ""
    deps: tuple[str, ...] = ()
    settings: Settings = Settings()


class HookLine(Table, frozen=True, kw_only=True):
    """`[[hook]]` of `hooks/hooks.toml` (Z2)."""

    name: Name
    event: HookEvent
    command: Word
    matcher: Pattern | None = None
    timeout: Annotated[int, Meta(ge=1, le=600)] = 60


class _Hooks(Table, frozen=True, kw_only=True):
    schema: Literal[1]
    hook: tuple[HookLine, ...] = ()


class ServerLine(Table, frozen=True, kw_only=True):
    """A server of `mcp/mcp.json` (Z2)."""

    command: Word | None = None
    args: tuple[Text, ...] = ()
    env: dict[Variable, Text] = {}
    cwd: Word | None = None
    url: Annotated[str, Meta(pattern=r"\Ahttps?://[^\s\x00-\x1f\x7f]+\Z")] | None = None


class _Servers(Table, frozen=True, kw_only=True, rename="camel"):
    mcp_servers: dict[ServerName, ServerLine]


class SpaceFiles(NamedTuple):
    """The content of a space's files; `skills` maps names to descriptions."""

    manifest: Manifest
    instructions: str
    skills: dict[str, str]
    hooks: tuple[HookLine, ...]
    servers: dict[str, ServerLine]


def read_space(files: Mapping[str, bytes]) -> SpaceFiles:
    """Parse the files of a space; `files` maps paths to contents. Raises `SpaceError` (Z1, Z2)."""
    if "space.toml" not in files:
        raise SpaceError("it has no space.toml, so it is not a space. Create the file, or change the reference.")
    manifest = read_toml(files["space.toml"], Manifest, "space.toml")
    if manifest.version is not None and not is_version(manifest.version):
        raise SpaceError("space.toml: the key 'version' is not a semantic version such as 1.2.3 or 1.2.3-rc.1")
    return SpaceFiles(
        manifest,
        read_text(files.get("AGENTS.md", b""), "AGENTS.md"),
        {
            matched["name"]: _read_skill(matched["name"], files[path])
            for path in sorted(files)
            if (matched := _SKILL.fullmatch(path))
        },
        _read_hooks(files.get("hooks/hooks.toml")),
        _read_servers(files.get("mcp/mcp.json")),
    )


def _read_skill(name: str, content: bytes) -> str:
    file = shown(f"skills/{name}/SKILL.md")
    if not _SKILL_NAME.fullmatch(name):
        raise SpaceError(
            f"{file}: a skill's name has at most 64 characters of a-z, 0-9, '_' and '-'. Rename its directory."
        )
    found = read_front_matter(read_text(content, file), file)
    if found.get("name", name) != name:
        raise SpaceError(f"{file}: the key 'name' is not the name of its directory. Change one of them.")
    if not found.get("description"):
        raise SpaceError(f"{file}: the key 'description' is missing or empty. Add a description.")
    return found["description"]


def _read_hooks(content: bytes | None) -> tuple[HookLine, ...]:
    name = "hooks/hooks.toml"
    hooks = () if content is None else read_toml(content, _Hooks, name).hook
    names = [hook.name for hook in hooks]
    for number, hook in enumerate(hooks):
        if hook.name in names[:number]:
            raise SpaceError(f"{name}: there are two hooks '{hook.name}'. Rename one.")
        if hook.matcher is not None and hook.event not in _TOOLS:
            raise SpaceError(
                f"{name}: hook '{hook.name}' has the key 'matcher', which only tool events have. Remove the key."
            )
        if hook.matcher is not None and not _is_regular_expression(hook.matcher):
            raise SpaceError(f"{name}: hook '{hook.name}': the key 'matcher' is not a regular expression. Fix it.")
    return hooks


def _is_regular_expression(text: str) -> bool:
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about patterns that a future Python may read differently
        try:
            re.compile(text)
        except (re.error, OverflowError, RecursionError):
            return False
    return True


def _read_servers(content: bytes | None) -> dict[str, ServerLine]:
    name = "mcp/mcp.json"
    servers = {} if content is None else read_json(content, _Servers, name).mcp_servers
    for key, server in servers.items():
        if (server.command is None) == (server.url is None):
            raise SpaceError(f"{name}: server '{key}' must have either the key 'command' or the key 'url'")
        if server.url is not None and (server.args or server.env or server.cwd is not None):
            raise SpaceError(
                f"{name}: server '{key}' has the key 'url', so it must not have any other key. Remove the others."
            )
    return servers
