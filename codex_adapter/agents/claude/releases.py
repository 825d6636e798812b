"""Describe the differences between releases of Claude Code in one table, and parse a release (R1, S8).

The table is the result of runs of the published programs 1.0.128, 2.0.76, 2.1.152 and 2.1.330. A feature counts from
the oldest of these that has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.runtime.programs import Version

__all__ = ["FEATURES", "MINIMUM", "TURNS", "Feature", "missing_feature", "needs_version", "parse_version"]

MINIMUM: Final = Version(1, 0, 128)
"""The oldest release that was run."""


TURNS: Final = Version(2, 1, 152)
"""The oldest release that can have its login in another place than its settings, which turns need (U9)."""


class Feature(NamedTuple):
    """A choice that a request can make. `used` returns whether the options of a request make it (S8)."""

    about: str
    since: Version
    used: Callable[[RunOptions], bool]


FEATURES: Final = (
    # Before, the CLI ignores the setting that its sandbox must start, and runs commands without it.
    Feature(
        "a sandbox that must start",
        Version(2, 1, 152),
        lambda options: options.sandboxed,
    ),
    Feature("a model without tools", Version(2, 0, 76), lambda options: options.tools == "none"),
    Feature("an output schema", Version(2, 0, 76), lambda options: options.output_schema is not None),
    Feature("a limit of cost", Version(2, 0, 76), lambda options: options.max_budget is not None),
)


def parse_version(text: str) -> Version | None:
    """Return the release in the output of `claude --version`, or None."""
    found = _VERSION_LINE.search(text)
    return None if found is None else Version(int(found[1]), int(found[2]), int(found[3]), found[4] or "")


def needs_version(options: RunOptions) -> bool:
    """Return whether `options` need a feature that some release does not have (S8)."""
    return any(feature.used(options) for feature in FEATURES)


def missing_feature(options: RunOptions, version: Version | None) -> str | None:
    """Return why a release cannot execute a request, None if it can or if the release is unknown (S8)."""
    if version is None:
        return None
    for feature in FEATURES:
        if feature.used(options) and version[:3] < feature.since[:3]:
            return f"{feature.about} needs release {feature.since} or newer, and {version} is installed"
    return None


_VERSION_LINE: Final = re.compile(
    r"^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,64}))? \(Claude Code\)\s*$", re.MULTILINE
)
