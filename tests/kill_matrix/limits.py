"""Read the processes that a level cannot contain from the table of rule N1 in specs/containment.md."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path

__all__ = [
    "ALONE",
    "COMMAND",
    "ENDS",
    "GUARD_KILLED",
    "GUARD_STOPPED",
    "KILLED",
    "LEVELS",
    "TOGETHER",
    "available",
    "not_held",
]

ROOT = Path(__file__).parents[2]
COMMAND = str(Path(sys.executable).with_name("codex-adapter"))
"""The command as it was built and installed."""
LEVELS = ("cgroup", "pid_namespace", "guard", "process_group")

ENDS = "the run ends, in whatever way"
KILLED = "the adapter is killed with SIGKILL"
GUARD_KILLED = "the guard is killed with SIGKILL"
TOGETHER = "both are killed at once"
GUARD_STOPPED = "the guard is stopped, then the adapter killed"
ALONE = "no guard"
"""What the table says of a level that has none."""


def not_held(row: str, level: str, levels: Collection[str]) -> str:
    """What the table says is left when `row` happens: nothing (empty), `cleared...`, `all`, or that there is no guard.

    `levels` are those that the machine has: a cgroup without namespaces holds less. Raises KeyError for a row that is
    not in the table.
    """
    column = f"`{level}`"
    if level == "cgroup" and "pid_namespace" not in levels:
        column += " without namespaces"
    said = _table()[row][column]
    return "" if said == "-" else said


@cache
def _table() -> dict[str, dict[str, str]]:
    text = (ROOT / "specs" / "containment.md").read_text()
    rule = text.partition("### N1 ")[2].partition("### ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in rule.splitlines() if line.startswith("|")]
    head, _, *body = rows
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in body}


@cache
def available() -> tuple[str, ...]:
    """The levels that this machine has, best first, as `codex-adapter doctor` tells them."""
    done = subprocess.run([COMMAND, "doctor"], capture_output=True, text=True, check=False)
    line = next((line for line in done.stdout.splitlines() if "containment:" in line), "")
    return tuple(level for level in LEVELS if level in re.findall(r"\w+", line.partition("containment:")[2]))
