"""Provide programs that restrict the program after them, and check whether this machine allows them.

Each is a tuple of arguments that precedes the arguments of another program. That program replaces the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

from ..needs import missing

__all__ = ["STRANGER", "after", "in_namespace", "limited", "needs", "other_user", "without_abilities"]

STRANGER = 54_321
"""A user id that nobody else has, so that what is counted for each user is counted for the test alone."""


def after(statements: str) -> tuple[str, ...]:
    """Python statements, with `os`, `resource`, `signal` and `sys` at hand, then the program."""
    code = f"import os, resource, signal, sys\n{statements}\nos.execvp(sys.argv[1], sys.argv[1:])"
    return (sys.executable, "-I", "-S", "-c", code)


def limited(resource: str, limit: int) -> tuple[str, ...]:
    """With so much of a resource, by its name in the module `resource`, and no more."""
    return after(f"resource.setrlimit(resource.{resource}, ({limit}, {limit}))")


def in_namespace(commands: str) -> tuple[str, ...]:
    """Shell commands in a user and a mount namespace of their own, where one is root, then the program."""
    return ("unshare", "-Urm", "sh", "-c", f'{commands} && exec "$@"', "sh")


def without_abilities() -> tuple[str, ...]:
    """Whoever we are, but without what only root may do; files stay as they are."""
    return ("setpriv", "--inh-caps=-all", "--bounding-set=-all") if os.geteuid() == 0 else ()


def other_user() -> tuple[str, ...]:
    """As the user `STRANGER`, with no ability but to read whatever this one may read."""
    read = "-all,+dac_read_search"
    abilities = (f"--inh-caps={read}", f"--ambient-caps={read}", f"--bounding-set={read}")
    return ("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", *abilities)


def needs(program: tuple[str, ...]) -> None:
    """Skip the test where the machine does not let us have these circumstances."""
    if not _can_be_had(program):
        missing("root" if program[0] == "setpriv" else "namespaces")


@cache
def _can_be_had(program: tuple[str, ...]) -> bool:
    try:
        return subprocess.run([*program, "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
