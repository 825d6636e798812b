"""Describe what `doctor` reports of an agent: its program, its login, its sandbox, and which promises hold (C4, C8)."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["AgentReport", "BinaryReport", "Finding", "Verdict"]


class Finding(msgspec.Struct, frozen=True):
    """One thing that was examined, its state, and the next step where something is amiss."""

    subject: str
    state: Literal["ok", "warning", "failed"]
    found: str
    advice: str | None = None


class BinaryReport(msgspec.Struct, frozen=True):
    """The program of an agent. Of a known release, `features` says what a run or a turn can ask of it (R1).

    `differences` has its quirks by name, each in a clause.
    """

    path: str
    origin: str = "configured"
    launcher: bool = False
    version: str | None = None
    supported: bool | None = None
    features: dict[str, bool] = {}
    differences: dict[str, str] = {}


class AgentReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent reports of itself on this machine; no field holds a secret.

    `login` has a bool for each place of a login; `logged_in` is true where one was found, or none is needed. `sandbox`
    says whether the agent's own sandbox works, None where that cannot be tried; `sandbox_findings` explain it.
    """

    findings: list[Finding]
    binary: BinaryReport | None = None
    login: dict[str, bool] = {}
    logged_in: bool = True
    sandbox: bool | None = None
    sandbox_findings: list[Finding] = []


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="promise"):
    """Whether a promise of a rule holds; `detail` says why it is broken or was not probed.

    Only a promise that the release is known not to keep is not probed.
    """

    probe: str
    rule: str
    promise: str
    state: Literal["holds", "broken", "not_probed"]
    detail: str | None = None
