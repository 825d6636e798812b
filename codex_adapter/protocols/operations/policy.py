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
"""The policies in the package."""
LARGEST_FILE: Final = 1024 * 1024
"""The size limit of a policy file, in bytes."""
_AGENT: Final = "{agent}"
"""A placeholder in a preset for the name of an agent's settings."""

Action = Literal["allow", "approve", "deny"]
Words = Annotated[str, Meta(pattern=r"\S")]
Globs = tuple[Words, ...]
Place = Annotated[str, Meta(pattern=r"^(/|~(/|$))")]
"""An absolute path, or a path below the home directory. A relative path could hide the wrong directory."""


class PolicyError(ValueError):
    """A policy is invalid. The message names the section and the key, and quotes no value (A1)."""


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section of a policy. Unknown keys are refused."""


class OperationsPolicy(_Section, frozen=True, kw_only=True):
    """`[operations]`: types of operations. A type in no list is denied (A2)."""

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
    """The action for a text whose commands are not certain."""
    max_timeout: Annotated[int, Meta(ge=1_000, le=3_600_000)]
    keep: Annotated[int, Meta(ge=1_024, le=16 * 1024 * 1024)]


class FileRules(_Section, frozen=True, kw_only=True):
    """Patterns of paths for one kind of access. A path that matches none is allowed (A5)."""

    approve: Globs
    deny: Globs


class FilesPolicy(_Section, frozen=True, kw_only=True):
    """`[files]`: paths by kind of access, and which files belong to the workspace."""

    read: FileRules
    write: FileRules
    delete: FileRules
    hard_links: bool
    """Whether files with more than one hard link are read and written. Their other names may be outside."""
    mounts: bool
    """Whether mount points in the workspace are entered."""


class VariablesPolicy(_Section, frozen=True, kw_only=True):
    """`[variables]`: patterns of the names of variables that a command may not set freely (A6)."""

    approve: Globs
    deny: Globs


class LimitsPolicy(_Section, frozen=True, kw_only=True):
    """`[limits]`: the limit of operations in a message, and of bytes in a file that is read or written."""

    operations: Annotated[int, Meta(ge=1, le=10_000)]
    file_bytes: Annotated[int, Meta(ge=1, le=MOST_FILE_BYTES)]


class NetworkPolicy(_Section, frozen=True, kw_only=True):
    """`[network]`: whether commands have network."""

    allow: bool


class SandboxPolicy(_Section, frozen=True, kw_only=True):
    """`[sandbox]`: whether commands need a sandbox, and the paths that it hides. `~` is the home directory."""

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
    """Return the policy for the name of a preset, or for a TOML file that overrides a preset key by key.

    The presets protect the settings of `agents`. `workspace` is the directory of the operations. Raises PolicyError for
    a file that cannot be read, is not TOML, or has an unknown key or an invalid value. Raises it also for a file that
    an agent could replace because it is in the workspace (A1, A5).
    """
    if isinstance(source, str) and source in PRESETS:
        return _policy(_preset(source, agents))
    if workspace is not None and _is_replaceable(Path(source), workspace):
        raise PolicyError(
            "the policy file is in the workspace, where an agent can change it. Move it out of the workspace"
        )
    tables = _parse(_read(Path(source)))
    base = tables.pop("extends", "standard")
    if base not in PRESETS:
        raise PolicyError(f"the policy's key 'extends' must be one of {', '.join(PRESETS)}")
    return _policy(_override(_preset(base, agents), tables))


def _preset(name: str, agents: Sequence[AgentPlaces]) -> dict[str, Any]:
    tables = _parse((Path(__file__).parent / "policies" / f"{name}.toml").read_bytes())
    settings = sorted(frozenset[str]().union(*(agent.settings for agent in agents)))
    for action in ("approve", "deny"):
        tables["files"]["write"][action] = list(_for_agents(tables["files"]["write"][action], settings))
    return tables


def _for_agents(patterns: Sequence[str], settings: Sequence[str]) -> Iterator[str]:
    """Yield the patterns of a preset, with `{agent}` replaced by each name in `settings`."""
    for pattern in patterns:
        yield from (pattern.replace(_AGENT, name) for name in settings) if _AGENT in pattern else (pattern,)


def _is_replaceable(path: Path, workspace: str | os.PathLike[str]) -> bool:
    """Return whether an agent in the workspace could change the file, a link to it, or another name of it.

    Raises PolicyError for a file that does not exist: an agent could create it before it is read.
    """
    try:
        facts = path.stat()
        if stat.S_ISDIR(facts.st_mode):
            return False
        return is_within_reach(path, workspace) or (facts.st_nlink > 1 and os.access(path, os.W_OK))
    except (OSError, ValueError):
        raise _unreadable() from None


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError):
        raise _unreadable() from None
    if len(content) > LARGEST_FILE:
        raise PolicyError(f"the policy file has more than {LARGEST_FILE} bytes")
    return content


def _unreadable() -> PolicyError:
    return PolicyError(f"the policy is not one of {', '.join(PRESETS)}, and not a file that can be read")


def _parse(content: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise PolicyError("the policy file is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(f"the policy file is not TOML{in_line(error)}") from None


def _override(base: dict[str, Any], tables: dict[str, Any]) -> dict[str, Any]:
    """Return `base` overridden by `tables`: tables key by key, other values as a whole."""
    merged = dict(base)
    for key, value in tables.items():
        below = merged.get(key)
        merged[key] = _override(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _policy(tables: dict[str, Any]) -> Policy:
    shell = tables.get("shell")
    if isinstance(shell, dict):
        tables = {**tables, "shell": {**shell, **{name: _rules(shell.get(name)) for name in ("approve", "deny")}}}
    try:
        return msgspec.convert(tables, Policy)
    except msgspec.ValidationError as error:
        raise PolicyError(f"the policy: {problem(error)}") from None


def _rules(rules: object) -> object:
    """Return rules as tables. A string is a rule that has only words."""
    return [{"words": rule} if isinstance(rule, str) else rule for rule in rules] if isinstance(rules, list) else rules
