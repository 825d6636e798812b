"""Judge an operation by a policy: it is allowed, needs approval by a person, or is denied (A2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, assert_never

import msgspec

from codex_adapter.protocols.operations.findings import Finding, path_findings, variable_findings
from codex_adapter.protocols.operations.operations import (
    CreateFileOperation,
    DeleteFileOperation,
    EditFileOperation,
    MessageOperation,
    Operation,
    ReadFileOperation,
    ShellOperation,
)
from codex_adapter.protocols.operations.policy import Policy
from codex_adapter.protocols.operations.shell_judging import command_findings

__all__ = ["Allowed", "Denied", "NeedsApproval", "Verdict", "judge"]


class Allowed(msgspec.Struct, frozen=True, tag="allowed"):
    """The operation is executed."""


class NeedsApproval(msgspec.Struct, frozen=True, tag="needs_approval"):
    """The operation waits for a person. `rule` is the policy's key, such as `shell.approve`."""

    reason: str
    rule: str


class Denied(msgspec.Struct, frozen=True, tag="denied"):
    """The operation is not executed. `suggestion` is an alternative for the agent, if the policy has one."""

    reason: str
    rule: str
    suggestion: str | None = None


Verdict: TypeAlias = Allowed | NeedsApproval | Denied


def judge(policy: Policy, operation: Operation) -> Verdict:
    """Return the strictest verdict of all keys of the policy: denied, else in need of approval, else allowed.

    Only the operation counts: no file is read and nothing is run (A2).
    """
    found = list(_findings(policy, operation))
    for finding in found:
        if finding.action == "deny":
            return Denied(finding.reason, finding.rule, finding.suggestion)
    for finding in found:
        if finding.action == "approve":
            return NeedsApproval(finding.reason, finding.rule)
    return Allowed()


def _findings(policy: Policy, operation: Operation) -> Iterator[Finding]:
    lists = policy.operations
    if operation.type in lists.deny:
        yield Finding("deny", f"Operations of the type '{operation.type}' are blocked", "operations.deny")
    elif operation.type not in (*lists.allow, *lists.approve):
        yield Finding("deny", f"Operations of the type '{operation.type}' are not allowed", "operations.allow")
    elif operation.type in lists.approve:
        yield Finding("approve", f"Operations of the type '{operation.type}' require approval", "operations.approve")
    match operation:
        case MessageOperation():
            pass
        case ReadFileOperation():
            yield from path_findings("read", policy.files.read, operation.path)
        case CreateFileOperation() | EditFileOperation():
            yield from path_findings("write", policy.files.write, operation.path)
        case DeleteFileOperation():
            yield from path_findings("delete", policy.files.delete, operation.path)
        case ShellOperation():
            yield from _shell_findings(policy, operation)
        case _:
            assert_never(operation)


def _shell_findings(policy: Policy, operation: ShellOperation) -> Iterator[Finding]:
    most = policy.shell.max_timeout
    if operation.timeout > most:
        yield Finding(
            "deny",
            f"A timeout of more than {most} milliseconds is not allowed",
            "shell.max_timeout",
            f"Use a timeout of at most {most} milliseconds, or work in smaller steps",
        )
    for name in operation.env:
        yield from variable_findings(policy.variables, name)
    yield from command_findings(policy, operation.command, operation.cwd, operation.env)
