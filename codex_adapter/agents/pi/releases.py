"""Describe the differences between releases of pi in one table, and parse a release (R1, S8).

The table is the result of runs of the published programs 0.74.2, 0.80.10 and 0.87.1. A feature counts from the oldest
of these that has it.
"""

from __future__ import annotations

import re
from typing import Final

from codex_adapter.runtime.programs import Version

__all__ = ["MINIMUM", "PROJECT_TRUST", "TURNS", "has_project_trust", "parse_version"]

MINIMUM: Final = Version(0, 74, 2)
"""The oldest release that was run."""

PROJECT_TRUST: Final = Version(0, 80, 10)
"""The oldest release that can ignore the settings and the system prompt in `.pi` of the working directory."""

TURNS: Final = PROJECT_TRUST
"""The oldest release that can have conversations.

Release 0.74 does not compact a session, and stores a prompt only together with the first answer.
"""


def parse_version(text: str) -> Version | None:
    """Return the release in the output of `pi --version`, or None."""
    found = _VERSION_LINE.search(text)
    return None if found is None else Version(int(found[1]), int(found[2]), int(found[3]), found[4] or "")


def has_project_trust(version: Version | None) -> bool:
    """Return whether the release can ignore the project. An unknown release counts as the newest (S8)."""
    return version is None or version[:3] >= PROJECT_TRUST[:3]


_VERSION_LINE: Final = re.compile(r"^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,64}))?\s*$", re.MULTILINE)
