"""Probe a Codex CLI: test whether the adapter keeps its promises with this CLI (C8).

    evidence = await perform(PROBES[0], directory, binary=binary, release=None, seconds=10)
    verdicts = list(judge(PROBES[0], evidence, None))

`codex-adapter doctor --probe` performs all probes.
"""

from __future__ import annotations

from codex_adapter.agents.codex.probes import failures, requests, sessions, turns
from codex_adapter.agents.codex.probes.probe import Evidence, Probe
from codex_adapter.agents.codex.probes.stage import perform
from codex_adapter.agents.codex.probes.verdicts import judge, judge_all

__all__ = ["PROBES", "Evidence", "Probe", "judge", "judge_all", "perform"]

PROBES: tuple[Probe, ...] = turns.PROBES + requests.PROBES + sessions.PROBES + failures.PROBES
"""All probes, in the order of the report."""
