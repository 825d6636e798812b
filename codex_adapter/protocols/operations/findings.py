"""Find the keys of a policy that deny or delay an operation, with reasons for the agent and the person."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from codex_adapter.protocols.operations.path_rules import first_match, plain
from codex_adapter.protocols.operations.policy import FileRules, VariablesPolicy

__all__ = ["Access", "Finding", "path_findings", "quoted", "safe_text", "variable_findings"]

Access = Literal["read", "write", "delete"]
ACTIVITIES: dict[Access, str] = {"read": "Reading", "write": "Writing", "delete": "Deleting"}


class Finding(NamedTuple):
    """A reason to deny or to delay an operation; `rule` is the policy's key."""

    action: Literal["approve", "deny"]
    reason: str
    rule: str
    suggestion: str | None = None


def quoted(name: str) -> str:
    """Return a name from the agent in quotes, shortened and printable."""
    return f"'{safe_text(name)}'"


def safe_text(text: str, longest: int = 100) -> str:
    """Return a text from the agent, shortened to `longest` characters, without characters that control a terminal."""
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return shown if len(shown) <= longest else f"{shown[:longest]}…"


def path_findings(access: Access, rules: FileRules, path: str) -> Iterator[Finding]:
    """Yield the findings for one kind of access to a path below the workspace's root (A5)."""
    path = plain(path)
    activity = f"{ACTIVITIES[access]} {quoted(path)}"
    if pattern := first_match(rules.deny, path):
        suggestion = f"Do not use files that match '{pattern}'"
        yield Finding("deny", f"{activity} is blocked by the rule '{pattern}'", f"files.{access}.deny", suggestion)
    elif pattern := first_match(rules.approve, path):
        yield Finding("approve", f"{activity} requires approval by the rule '{pattern}'", f"files.{access}.approve")


def variable_findings(rules: VariablesPolicy, name: str) -> Iterator[Finding]:
    """Yield the findings for a variable that a command gets or sets (A6)."""
    setting = f"Setting the variable {quoted(name)}, which can change what is executed,"
    if any(fnmatchcase(name, pattern) for pattern in rules.deny):
        yield Finding("deny", f"{setting} is blocked", "variables.deny", f"Do not set the variable {quoted(name)}")
    elif any(fnmatchcase(name, pattern) for pattern in rules.approve):
        yield Finding("approve", f"{setting} requires approval", "variables.approve")
