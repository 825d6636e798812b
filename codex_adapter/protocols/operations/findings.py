"""What one key of a policy says of one thing that an operation does, in words for an agent and for a person."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from codex_adapter.protocols.operations.path_rules import first_match, plain
from codex_adapter.protocols.operations.policy import FileRules, VariablesPolicy

__all__ = ["Access", "Finding", "named", "of_path", "of_variable", "printable"]

Access = Literal["read", "write", "delete"]
PARTICIPLES: dict[Access, str] = {"read": "Reading", "write": "Writing", "delete": "Deleting"}


class Finding(NamedTuple):
    """A reason to hold an operation back; `rule` is the policy's key."""

    action: Literal["approve", "deny"]
    reason: str
    rule: str
    suggestion: str | None = None


def named(name: str) -> str:
    """A name of the agent's choice, in quotes."""
    return f"'{printable(name)}'"


def printable(text: str, longest: int = 100) -> str:
    """A text of the agent's choice, cut short, and with nothing in it that moves a terminal's cursor."""
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return shown if len(shown) <= longest else f"{shown[:longest]}…"


def of_path(access: Access, rules: FileRules, path: str) -> Iterator[Finding]:
    """What the rules for one kind of access say of a path, seen from the workspace's root (A5)."""
    path = plain(path)
    doing = f"{PARTICIPLES[access]} {named(path)}"
    if pattern := first_match(rules.deny, path):
        told = f"Leave out files that match '{pattern}'"
        yield Finding("deny", f"{doing} is blocked by the rule '{pattern}'", f"files.{access}.deny", told)
    elif pattern := first_match(rules.approve, path):
        yield Finding("approve", f"{doing} requires approval by the rule '{pattern}'", f"files.{access}.approve")


def of_variable(rules: VariablesPolicy, name: str) -> Iterator[Finding]:
    """What the policy says of a variable that a command gets or sets (A6)."""
    setting = f"Setting the variable {named(name)}, which can change what is executed,"
    if any(fnmatchcase(name, pattern) for pattern in rules.deny):
        yield Finding("deny", f"{setting} is blocked", "variables.deny", f"Do without the variable {named(name)}")
    elif any(fnmatchcase(name, pattern) for pattern in rules.approve):
        yield Finding("approve", f"{setting} requires approval", "variables.approve")
