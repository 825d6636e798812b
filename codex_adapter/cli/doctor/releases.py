"""What `doctor` tells of the installed release: what a run can ask of it, and what else is its own (C4, R1)."""

from __future__ import annotations

from codex_adapter.agents.codex.quirks import facts_of
from codex_adapter.agents.codex.releases import FEATURES, Version

__all__ = ["differences_of", "features_of", "release_lines"]


def features_of(release: Version) -> dict[str, bool]:
    """Of everything that some release cannot do, whether this one can."""
    return {feature.name: feature.has(release) for feature in FEATURES}


def differences_of(release: Version) -> dict[str, str]:
    """What this release does and some other does not, by name, each in a sentence."""
    return {name: fact.about for name, fact in facts_of(release).items() if fact.since or fact.until}


def release_lines(features: dict[str, bool], differences: dict[str, str]) -> list[str]:
    """Both as lines of text."""
    takes, lacks = (", ".join(name for name, has in features.items() if has is wanted) for wanted in (True, False))
    lines = [f"{verb}: {names}" for verb, names in (("takes", takes), ("does not take", lacks)) if names]
    return [*lines, *(f"known of it: {about}" for about in differences.values())]
