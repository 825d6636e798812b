"""Show findings to a person (C4, C8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from codex_adapter.agent import Agent
from codex_adapter.cli.option_names import OptionNames
from codex_adapter.cli.present.lines import printable
from codex_adapter.findings import Finding

__all__ = ["finding_lines", "printable_findings", "release_lines"]

_SIGNS = {"ok": "ok  ", "warning": "note", "failed": "FAIL"}


def printable_findings(findings: Sequence[Finding], agent: Agent) -> list[Finding]:
    """Return findings that are safe to show, with options in place of configuration fields."""
    names = OptionNames(agent.options)
    return [
        replace(
            finding,
            found=printable(finding.found),
            advice=None if finding.advice is None else names.for_fields(finding.advice),
        )
        for finding in findings
    ]


def finding_lines(finding: Finding) -> list[str]:
    """Return the lines of a finding."""
    lines = [f"{_SIGNS[finding.state]} {finding.subject}: {finding.found}"]
    return lines if finding.advice is None else [*lines, f"     {finding.advice}"]


def release_lines(features: Mapping[str, bool], differences: Mapping[str, str]) -> list[str]:
    """Return lines with the features of a release and its other properties (R1)."""
    takes, lacks = (", ".join(name for name, has in features.items() if has is yes) for yes in (True, False))
    lines = [f"{verb}: {names}" for verb, names in (("supports", takes), ("does not support", lacks)) if names]
    return [*lines, *(f"quirk: {about}" for about in differences.values())]
