"""Find what single keys of a policy say about an operation, in words for an agent and a person."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from codex_adapter.protocols.operations.path_rules import first_match, plain
from codex_adapter.protocols.operations.policy import FileRules, VariablesPolicy

__all__ = ["Access", "Finding", "path_findings", "quoted", "safe_text", "variable_findings"]

Access = Literal["read", "write", "delete"]
PARTICIPLES: dict[Access, str] = {"read": "Reading", "write": "Writing", "delete": "Deleting"}


class Finding(NamedTuple):
    """A reason to deny or to delay an operation; `rule` is the policy's key."""

    action: Literal["approve", "deny"]
    reason: str
    rule: str
    suggestion: str | None = None


def quoted(name: str) -> str:
    """Return a name of the agent's choice, in quotes."""
    return f"'{safe_text(name)}'"


def safe_text(text: str, longest: int = 100) -> str:
    """Return a text of the agent's choice, shortened, without characters that control a terminal."""
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return shown if len(shown) <= longest else f"{shown[:longest]}…"


def path_findings(access: Access, rules: FileRules, path: str) -> Iterator[Finding]:
    """Yield what the rules for one kind of access say about a path below the workspace's root (A5)."""
    path = plain(path)
    doing = f"{PARTICIPLES[access]} {quoted(path)}"
    if pattern := first_match(rules.deny, path):
        told = f"Leave out files that match '{pattern}'"
        yield Finding("deny", f"{doing} is blocked by the rule '{pattern}'", f"files.{access}.deny", told)
    elif pattern := first_match(rules.approve, path):
        yield Finding("approve", f"{doing} requires approval by the rule '{pattern}'", f"files.{access}.approve")


def variable_findings(rules: VariablesPolicy, name: str) -> Iterator[Finding]:
    """Yield what the policy says about a variable that a command gets or sets (A6)."""
    setting = f"Setting the variable {quoted(name)}, which can change what is executed,"
    if any(fnmatchcase(name, pattern) for pattern in rules.deny):
        yield Finding("deny", f"{setting} is blocked", "variables.deny", f"Do without the variable {quoted(name)}")
    elif any(fnmatchcase(name, pattern) for pattern in rules.approve):
        yield Finding("approve", f"{setting} requires approval", "variables.approve")
