"""Define the report of `doctor` on an agent: program, login, sandbox, and which promises hold (C4, C8)."""

from __future__ import annotations

import os
from typing import Literal

import msgspec

__all__ = ["AgentReport", "BinaryReport", "Finding", "Verdict", "home_finding"]


class Finding(msgspec.Struct, frozen=True):
    """The result of one check: its subject, its state, and the next step if there is a problem."""

    subject: str
    state: Literal["ok", "warning", "failed"]
    found: str
    advice: str | None = None


class BinaryReport(msgspec.Struct, frozen=True):
    """The program of an agent.

    For a known release, `features` are the features that a run or a turn can use. `differences` has its quirks by
    name, each as a clause. (R1)
    """

    path: str
    origin: str = "configured"
    launcher: bool = False
    version: str | None = None
    supported: bool | None = None
    features: dict[str, bool] = {}
    differences: dict[str, str] = {}


class AgentReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of an agent on this machine. No field contains a secret.

    `login` has a bool for each place of a login. `logged_in` is true if a login exists or none is needed. `sandbox` is
    whether the agent's own sandbox works, None if it cannot be tried; `sandbox_findings` explain it.
    """

    findings: list[Finding]
    binary: BinaryReport | None = None
    login: dict[str, bool] = {}
    logged_in: bool = True
    sandbox: bool | None = None
    sandbox_findings: list[Finding] = []


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="promise"):
    """Whether a promise of a rule holds; `detail` is why it is broken or was not probed.

    A promise is not probed only if the release is known to break it.
    """

    probe: str
    rule: str
    promise: str
    state: Literal["holds", "broken", "not_probed"]
    detail: str | None = None


def home_finding(variable: str, home: str | None, default: str) -> Finding:
    """Return the finding of `doctor` on the directory `home`, which `variable` names (C4).

    `default` is for a person: the directory without the variable.
    """
    if not home:
        return Finding("home", "ok", default)
    if os.path.isdir(home):  # noqa: PTH112 - unlike Path.is_dir, it raises for no path
        return Finding("home", "ok", variable)
    advice = f"A run is refused. Create the directory of {variable}, or name another one."
    return Finding("home", "failed", f"{variable} is not a directory", advice)
