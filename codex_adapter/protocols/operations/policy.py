"""Policies: which operations may be done, which need a person's approval, and within which limits."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from codex_adapter.protocols.operations.operations import MOST_FILE_BYTES, OperationType
from codex_adapter.protocols.operations.placement import is_within_reach
from codex_adapter.strict_decode import in_line, problem

__all__ = [
    "PRESETS",
    "Action",
    "FileRules",
    "FilesPolicy",
    "LimitsPolicy",
    "NetworkPolicy",
    "OperationsPolicy",
    "Policy",
    "PolicyError",
    "SandboxPolicy",
    "ShellPolicy",
    "ShellRule",
    "VariablesPolicy",
    "load_policy",
]

PRESETS: Final = ("restrictive", "standard", "permissive")
"""The policies that come with the package."""
LARGEST_FILE: Final = 1024 * 1024
"""Bytes of a policy file."""

Action = Literal["allow", "approve", "deny"]
Words = Annotated[str, Meta(pattern=r"\S")]
Globs = tuple[Words, ...]
Place = Annotated[str, Meta(pattern=r"^(/|~(/|$))")]
"""An absolute path, or one below the home directory: a relative one would hide something else than was meant."""


class PolicyError(ValueError):
    """A policy that is not one; the message names the section and the key and no value (A1)."""


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all sections have: unknown keys are refused."""


class OperationsPolicy(_Section, frozen=True, kw_only=True):
    """`[operations]`: types of operations; what is in no list is denied (A2)."""

    allow: tuple[OperationType, ...]
    approve: tuple[OperationType, ...]
    deny: tuple[OperationType, ...]


class ShellRule(_Section, frozen=True, kw_only=True):
    """The words of a command, with what people and agents are told when it meets one (A4)."""

    words: Words
    reason: Words | None = None
    suggestion: Words | None = None


class ShellPolicy(_Section, frozen=True, kw_only=True):
    """`[shell]`: commands by their words, `max_timeout` in milliseconds, `keep` in bytes of each output."""

    allow: tuple[Words, ...]
    approve: tuple[ShellRule, ...]
    deny: tuple[ShellRule, ...]
    default: Action
    """What happens to a command that is in no list."""
    unclear: Action
    """What happens to a text that cannot be understood for certain."""
    max_timeout: Annotated[int, Meta(ge=1_000, le=3_600_000)]
    keep: Annotated[int, Meta(ge=1_024, le=16 * 1024 * 1024)]


class FileRules(_Section, frozen=True, kw_only=True):
    """Patterns of paths for one kind of access: `*` within a name, `**` over directories; the rest is allowed (A5)."""

    approve: Globs
    deny: Globs


class FilesPolicy(_Section, frozen=True, kw_only=True):
    """`[files]`: paths by kind of access, and what the workspace takes for a file of its own."""

    read: FileRules
    write: FileRules
    delete: FileRules
    hard_links: bool
    """Whether files with other names, which may be outside, are read and written."""
    mounts: bool
    """Whether directories are entered on which something else is mounted."""


class VariablesPolicy(_Section, frozen=True, kw_only=True):
    """`[variables]`: patterns of the names of variables that a command may not set just so (A6)."""

    approve: Globs
    deny: Globs


class LimitsPolicy(_Section, frozen=True, kw_only=True):
    """`[limits]`: operations in a message, bytes of a file that is read or written."""

    operations: Annotated[int, Meta(ge=1, le=10_000)]
    file_bytes: Annotated[int, Meta(ge=1, le=MOST_FILE_BYTES)]


class NetworkPolicy(_Section, frozen=True, kw_only=True):
    """`[network]`: whether commands reach the network."""

    allow: bool


class SandboxPolicy(_Section, frozen=True, kw_only=True):
    """`[sandbox]`: whether commands run only in a sandbox, and the paths that they do not see in it; `~` is home."""

    require: bool
    hidden: tuple[Place, ...]


class Policy(_Section, frozen=True, kw_only=True):
    """One whole policy."""

    operations: OperationsPolicy
    shell: ShellPolicy
    files: FilesPolicy
    variables: VariablesPolicy
    limits: LimitsPolicy
    network: NetworkPolicy
    sandbox: SandboxPolicy


def load_policy(source: str | os.PathLike[str], *, workspace: str | os.PathLike[str] | None = None) -> Policy:
    """Return the policy of a preset's name, or of a TOML file, which overrides a preset key by key (A1).

    `workspace` is the directory that the policy is for. Raises PolicyError for a file that cannot be read, is not TOML,
    has an unknown key or a wrong value, or that an agent could replace because it is in the workspace.
    """
    if isinstance(source, str) and source in PRESETS:
        return _policy(_preset(source))
    if workspace is not None and _is_replaceable(Path(source), workspace):
        raise PolicyError("the policy file is in the workspace, where an agent can change it. Move it out")
    given = _parsed(_content(Path(source)))
    base = given.pop("extends", "standard")
    if base not in PRESETS:
        raise PolicyError(f"the policy's key 'extends' is none of {', '.join(PRESETS)}")
    return _policy(_overridden(_preset(base), given))


def _preset(name: str) -> dict[str, Any]:
    return _parsed((Path(__file__).parent / "policies" / f"{name}.toml").read_bytes())


def _is_replaceable(path: Path, workspace: str | os.PathLike[str]) -> bool:
    """Return whether an agent in the workspace could change the file: by itself, by a link, or by another name.

    Raises PolicyError for a file that does not exist: an agent could make it before it is read.
    """
    try:
        facts = path.stat()
        if stat.S_ISDIR(facts.st_mode):
            return False
        return is_within_reach(path, workspace) or (facts.st_nlink > 1 and os.access(path, os.W_OK))
    except (OSError, ValueError):
        raise _unreadable() from None


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError):
        raise _unreadable() from None
    if len(content) > LARGEST_FILE:
        raise PolicyError(f"the policy's file has more than {LARGEST_FILE} bytes")
    return content


def _unreadable() -> PolicyError:
    return PolicyError(f"the policy is neither one of {', '.join(PRESETS)} nor a file that can be read")


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise PolicyError("the policy's file is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(f"the policy's file is no TOML{in_line(error)}") from None


def _overridden(base: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The base with what is given put over it: tables key by key, everything else whole."""
    merged = dict(base)
    for key, value in given.items():
        below = merged.get(key)
        merged[key] = _overridden(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _policy(tables: dict[str, Any]) -> Policy:
    shell = tables.get("shell")
    if isinstance(shell, dict):
        tables = {**tables, "shell": {**shell, **{name: _rules(shell.get(name)) for name in ("approve", "deny")}}}
    try:
        return msgspec.convert(tables, Policy)
    except msgspec.ValidationError as error:
        raise PolicyError(f"the policy: {problem(error)}") from None


def _rules(given: object) -> object:
    """Rules as tables: a text is short for one with nothing but words."""
    return [{"words": rule} if isinstance(rule, str) else rule for rule in given] if isinstance(given, list) else given
