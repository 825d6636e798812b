"""Describe the installed release for `doctor`: what runs and turns can ask of it, and its quirks (C4, R1)."""

from __future__ import annotations

from codex_adapter.agents.codex.releases import FEATURES, NEEDS, Version, quirks_of

__all__ = ["differences_of", "features_of", "release_lines"]


def features_of(release: Version) -> dict[str, bool]:
    """Return of everything that some release cannot do for a run or a turn whether this one can."""
    return {row.about: row.holds(release) for row in (*FEATURES, *NEEDS)}


def differences_of(release: Version) -> dict[str, str]:
    """Return the quirks that this release has and some other does not: a clause for each, by name."""
    return {name: quirk.about for name, quirk in quirks_of(release).items() if quirk.since or quirk.until}


def release_lines(features: dict[str, bool], differences: dict[str, str]) -> list[str]:
    """Return both as lines of text."""
    takes, lacks = (", ".join(name for name, has in features.items() if has is wanted) for wanted in (True, False))
    lines = [f"{verb}: {names}" for verb, names in (("takes", takes), ("does not take", lacks)) if names]
    return [*lines, *(f"known of it: {about}" for about in differences.values())]
