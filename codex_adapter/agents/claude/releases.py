"""Describe the differences between releases of Claude Code in one table, and parse a release (R1, S8).

The table is the result of runs of the published programs from 1.0.124 to 2.1.330. A boundary is the first of the tested
releases with the new behavior: 1.0.126, 1.0.128, 2.0.36, 2.0.45, 2.0.76, 2.1.152, 2.1.321 and 2.1.330 among them.
"""

from __future__ import annotations

import re
from typing import Final

from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.runtime.programs import Version
from codex_adapter.runtime.releases import Feature, Quirk, ReleaseTable

__all__ = [
    "FEATURES",
    "MINIMUM",
    "QUIRKS",
    "RELEASES",
    "SANDBOX",
    "TURNS",
    "missing_feature",
    "needs_version",
    "parse_version",
]

MINIMUM: Final = Version(1, 0, 126)
"""The first release with `--setting-sources`, without which the settings of the project would be used (S8)."""


TURNS: Final = Version(2, 1, 152)
"""The oldest release that can have its login in another place than its settings, which turns need (U9)."""

SANDBOX: Final = Feature(
    "sandbox", "a sandbox that must start", since=Version(2, 1, 152), used=lambda options: options.sandboxed
)
"""Before, the CLI ignores the setting that its sandbox must start, and runs commands without it."""

_ROWS: Final[tuple[Feature | Quirk, ...]] = (
    SANDBOX,
    # Before, the CLI's own `git status`, outside of its sandbox, runs the filters and the monitor of the repository.
    Feature(
        "git_shelter",
        "a git repository that is not trusted",
        since=Version(2, 1, 321),
        used=lambda options: options.repository and not options.trust_project,
    ),
    Feature("no_tools", "a model without tools", since=Version(2, 0, 36), used=lambda options: options.tools == "none"),
    Feature(
        "output_schema",
        "an output schema",
        since=Version(2, 0, 45),
        used=lambda options: options.output_schema is not None,
    ),
    Feature(
        "max_budget", "a limit of cost", since=Version(2, 0, 76), used=lambda options: options.max_budget is not None
    ),
    Quirk(
        "cut_answer_is_success",
        "an answer of the model that ends in the middle is the result of a completed turn",
        until=Version(2, 1, 330),
    ),
    Quirk("limit_is_no_error", "a turn that reaches a limit has no `is_error`, and status 0", until=Version(2, 1, 152)),
    Quirk("sigint_without_result", "SIGINT ends the CLI with status 0 and without a result", until=Version(2, 1, 330)),
    Quirk("plan_by_todo_write", "the tool `TodoWrite` is offered", until=Version(2, 1, 152)),
    Quirk(
        "warms_up",
        "a start also asks the model to warm up sub-agents, which counts in the totals of the result",
        since=Version(2, 0, 76),
        until=Version(2, 1, 14),
    ),
    Quirk(
        "read_only_without_commands",
        "with the sandbox mode `read-only`, every command fails",
        since=Version(2, 1, 152),
        until=Version(2, 1, 330),
    ),
    Quirk("retries_reported", "each retry of a request has a line `api_retry`", since=Version(2, 1, 152)),
    Quirk("tasks_reported", "the start, progress and end of a sub-agent have lines", since=Version(2, 1, 152)),
    Quirk("requests_reported", "with partial messages, each request has a line `status`", since=Version(2, 1, 152)),
    Quirk(
        "sub_agents_in_background",
        "a sub-agent runs in the background, and its end starts another turn with a result of its own",
        since=Version(2, 1, 330),
    ),
    Quirk("thinking_counted", "thinking has lines with a count of tokens", since=Version(2, 1, 330)),
    Quirk(
        "answer_with_schema_ends_turn",
        "the call of `StructuredOutput` ends the turn; before, the model is asked once more",
        since=Version(2, 1, 330),
    ),
)

RELEASES: Final = ReleaseTable[RunOptions](MINIMUM, _ROWS)
"""The only place in the package with facts about releases of the CLI (R1)."""

FEATURES: Final = RELEASES.features
QUIRKS: Final = RELEASES.quirks
needs_version = RELEASES.needs_version
missing_feature = RELEASES.missing_feature


def parse_version(text: str) -> Version | None:
    """Return the release in the output of `claude --version`, or None."""
    found = _VERSION_LINE.search(text)
    return None if found is None else Version(int(found[1]), int(found[2]), int(found[3]), found[4] or "")


_VERSION_LINE: Final = re.compile(
    r"^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,64}))? \(Claude Code\)\s*$", re.MULTILINE
)
