"""Define and load policies: which operations are allowed, which need approval, and within which limits."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from codex_adapter.protocols.operations.operations import MOST_FILE_BYTES, OperationType
from codex_adapter.protocols.operations.placement import is_within_reach
from codex_adapter.strict_decode import in_line, problem
from codex_adapter.workspace import AgentPlaces

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
"""The size limit of a policy file, in bytes."""
_AGENT: Final = "{agent}"
"""In a preset: the settings of an agent."""

Action = Literal["allow", "approve", "deny"]
Words = Annotated[str, Meta(pattern=r"\S")]
Globs = tuple[Words, ...]
Place = Annotated[str, Meta(pattern=r"^(/|~(/|$))")]
"""An absolute path, or one below the home directory: a relative one could hide the wrong place."""


class PolicyError(ValueError):
    """A policy is invalid; the message names the section and the key, and quotes no value (A1)."""


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section; unknown keys are refused."""


class OperationsPolicy(_Section, frozen=True, kw_only=True):
    """`[operations]`: types of operations; what is in no list is denied (A2)."""

    allow: tuple[OperationType, ...]
    approve: tuple[OperationType, ...]
    deny: tuple[OperationType, ...]


class ShellRule(_Section, frozen=True, kw_only=True):
    """The words of a command, with the reason and suggestion for a command that matches (A4)."""

    words: Words
    reason: Words | None = None
    suggestion: Words | None = None


class ShellPolicy(_Section, frozen=True, kw_only=True):
    """`[shell]`: commands by their words, `max_timeout` in milliseconds, `keep` in bytes of each output."""

    allow: tuple[Words, ...]
    approve: tuple[ShellRule, ...]
    deny: tuple[ShellRule, ...]
    default: Action
    """The action for a command that is in no list."""
    unclear: Action
    """The action for a text that cannot be understood for certain."""
    max_timeout: Annotated[int, Meta(ge=1_000, le=3_600_000)]
    keep: Annotated[int, Meta(ge=1_024, le=16 * 1024 * 1024)]


class FileRules(_Section, frozen=True, kw_only=True):
    """Patterns of paths for one kind of access: `*` within a name, `**` over directories; the rest is allowed (A5)."""

    approve: Globs
    deny: Globs


class FilesPolicy(_Section, frozen=True, kw_only=True):
    """`[files]`: paths by kind of access, and which files belong to the workspace."""

    read: FileRules
    write: FileRules
    delete: FileRules
    hard_links: bool
    """Whether files with other names, which may be outside, are read and written."""
    mounts: bool
    """Whether directories are entered on which something else is mounted."""


class VariablesPolicy(_Section, frozen=True, kw_only=True):
    """`[variables]`: patterns of the names of variables that a command may not simply set (A6)."""

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
    """A complete policy."""

    operations: OperationsPolicy
    shell: ShellPolicy
    files: FilesPolicy
    variables: VariablesPolicy
    limits: LimitsPolicy
    network: NetworkPolicy
    sandbox: SandboxPolicy


def load_policy(
    source: str | os.PathLike[str],
    *,
    agents: Sequence[AgentPlaces],
    workspace: str | os.PathLike[str] | None = None,
) -> Policy:
    """Return the policy of a preset's name, or of a TOML file, which overrides a preset key by key (A1).

    The presets guard the settings of `agents` (A5). `workspace` is the directory that the policy is for. Raises
    PolicyError for a file that cannot be read, is not TOML, has an unknown key or a wrong value, or that an agent could
    replace because it is in the workspace.
    """
    if isinstance(source, str) and source in PRESETS:
        return _policy(_preset(source, agents))
    if workspace is not None and _is_replaceable(Path(source), workspace):
        raise PolicyError("the policy file is in the workspace, where an agent can change it. Move it out")
    given = _parsed(_content(Path(source)))
    base = given.pop("extends", "standard")
    if base not in PRESETS:
        raise PolicyError(f"the policy's key 'extends' must be one of {', '.join(PRESETS)}")
    return _policy(_overridden(_preset(base, agents), given))


def _preset(name: str, agents: Sequence[AgentPlaces]) -> dict[str, Any]:
    tables = _parsed((Path(__file__).parent / "policies" / f"{name}.toml").read_bytes())
    settings = sorted(frozenset[str]().union(*(agent.settings for agent in agents)))
    for action in ("approve", "deny"):
        tables["files"]["write"][action] = list(_for_agents(tables["files"]["write"][action], settings))
    return tables


def _for_agents(patterns: Sequence[str], settings: Sequence[str]) -> Iterator[str]:
    """Yield the patterns of a preset; one with `{agent}` stands for one with each of the names in `settings`."""
    for pattern in patterns:
        yield from (pattern.replace(_AGENT, name) for name in settings) if _AGENT in pattern else (pattern,)


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
        raise PolicyError(f"the policy's file is not TOML{in_line(error)}") from None


def _overridden(base: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the base overridden by what is passed: tables key by key, other values as a whole."""
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
    """Return rules as tables: a text is short for a rule with only words."""
    return [{"words": rule} if isinstance(rule, str) else rule for rule in given] if isinstance(given, list) else given
