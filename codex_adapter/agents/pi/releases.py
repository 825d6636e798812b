"""Describe the differences between releases of pi in one table, and parse a release (R1, S8).

The table is the result of runs of the published programs 0.74.2, 0.78.1, 0.80.10, 0.83.0 and 0.87.1. A boundary is the
first of these with the new behavior.
"""

from __future__ import annotations

import re
from typing import Final

from codex_adapter.agents.pi.extensions import RunOptions
from codex_adapter.runtime.programs import Version
from codex_adapter.runtime.releases import Feature, Quirk, ReleaseTable

__all__ = [
    "FEATURES",
    "MINIMUM",
    "PROJECT_TRUST",
    "RELEASES",
    "TURNS",
    "has_project_trust",
    "missing_feature",
    "parse_version",
]

MINIMUM: Final = Version(0, 74, 2)
"""The oldest release that was run."""

TURNS: Final = Version(0, 80, 10)
"""The oldest release that can have conversations.

Release 0.74 does not compact a session, and stores a prompt only together with the first answer.
"""

PROJECT_TRUST: Final = Feature(
    "project_trust",
    "a project that is not trusted",
    since=Version(0, 80, 10),
    used=lambda options: not options.trust_project,
)
"""Before, the CLI always uses the settings and the system prompt in `.pi` of the working directory."""

_ROWS: Final[tuple[Feature | Quirk, ...]] = (
    PROJECT_TRUST,
    # Before, the client of the model's provider repeats a request at first, unseen.
    Quirk("retries_reported", "each retry of a request has a line", since=Version(0, 78, 1)),
    Quirk("turn_settles", "the line `agent_settled` ends the turn", since=Version(0, 80, 10)),
    Quirk(
        "cut_answer_is_whole",
        "an answer of a Responses API that ends in the middle is like a whole one without tokens",
        until=Version(0, 80, 10),
    ),
    Quirk("cut_answer_retried", "a request whose answer ends in the middle is tried again", since=Version(0, 83, 0)),
    Quirk(
        "errors_without_codes",
        "an error of a service has only its message, so some hints are more general",
        until=Version(0, 80, 10),
    ),
    Quirk(
        "messages_repeated",
        "each piece of a message has the whole message so far",
        until=Version(0, 87, 1),
    ),
    Quirk(
        "killed_shell_succeeds",
        "a command whose shell is killed by a signal counts as a success",
        until=Version(0, 87, 1),
    ),
    Quirk("system_prompt_printed", "the prompt of the system is a message", since=Version(0, 87, 1)),
)

RELEASES: Final = ReleaseTable[RunOptions](MINIMUM, _ROWS)
"""The only place in the package with facts about releases of the CLI (R1)."""

FEATURES: Final = RELEASES.features
missing_feature = RELEASES.missing_feature


def parse_version(text: str) -> Version | None:
    """Return the release in the output of `pi --version`, or None."""
    found = _VERSION_LINE.search(text)
    return None if found is None else Version(int(found[1]), int(found[2]), int(found[3]), found[4] or "")


def has_project_trust(version: Version | None) -> bool:
    """Return whether the release can ignore the project. An unknown release counts as the newest (S8)."""
    return version is None or PROJECT_TRUST.holds(version)


_VERSION_LINE: Final = re.compile(r"^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,64}))?\s*$", re.MULTILINE)
