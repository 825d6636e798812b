"""What a run can ask for in some releases of the Codex CLI and not in others, in one table.

Established by running the published binaries, 0.44.0 to 0.169.0; a boundary is the first release of those that behaves
the new way. What every supported release does alike has no row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from typing_extensions import override

from codex_adapter.agents.codex.extensions import ExecOptions

__all__ = [
    "FEATURES",
    "MINIMUM",
    "Feature",
    "Version",
    "is_supported",
    "is_within",
    "missing_feature",
    "needs_version",
    "parse_version",
]


class Version(NamedTuple):
    """A release of the CLI; `pre` is the part after a dash, as in `0.170.0-alpha.3`, or empty."""

    major: int
    minor: int
    patch: int
    pre: str = ""

    @override
    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + (f"-{self.pre}" if self.pre else "")


MINIMUM = Version(0, 44, 0)
"""The first release whose `--json` prints thread events (S8)."""


class Feature(NamedTuple):
    """Something that a run can ask for and that not every release can do.

    `since` is the first release that has it, `until` the first that has it no more; None leaves that end open.
    """

    name: str
    used: Callable[[ExecOptions], bool]
    since: Version | None = None
    until: Version | None = None

    def has(self, version: Version) -> bool:
        """Whether this release has it (R1)."""
        return is_within(version, self.since, self.until)


FEATURES = (
    Feature("approval policy 'on-failure'", lambda o: o.approval_policy == "on-failure", until=Version(0, 143, 0)),
    Feature("approval policy 'untrusted'", lambda o: o.approval_policy == "untrusted", until=Version(0, 149, 0)),
    Feature("additional directories", lambda o: bool(o.add_dirs), since=Version(0, 59, 0)),
    # before, the images were a turn of their own that raced the prompt's, and the run could hang for ever
    Feature("images", lambda o: bool(o.images), since=Version(0, 53, 0)),
    # before, `resume --last` took no prompt
    Feature("resuming the last session", lambda o: o.resume is not None and o.resume.last, since=Version(0, 63, 0)),
    # before 0.66 the shell could not be taken from the model, from 0.92 to 0.146 not the tool that reads images
    Feature("a model without tools", lambda o: o.tools == "none", since=Version(0, 147, 0)),
    # 0.148 to 0.154 take `fork` too, but the promise begins here
    Feature("forking a session", lambda o: o.fork is not None, since=Version(0, 155, 0)),
)


def parse_version(text: str) -> Version | None:
    """The release in what `codex --version` printed; None when there is none to be seen.

    A build from source calls itself 0.0.0, which says nothing about what it can do, and gives None as well.
    """
    found = _VERSION_LINE.search(text)
    if found is None:
        return None
    version = Version(int(found[1]), int(found[2]), int(found[3]), found[4] or "")
    return version if version[:3] != (0, 0, 0) else None


def needs_version(options: ExecOptions) -> bool:
    """Whether some supported release cannot do what `options` ask for (S8)."""
    return any(feature.used(options) for feature in FEATURES)


def is_supported(version: Version) -> bool:
    """Whether the adapter understands what this release prints (S8, R1)."""
    return version[:3] >= MINIMUM[:3]


def is_within(version: Version, since: Version | None, until: Version | None) -> bool:
    """Whether a release is one of those from `since` on and before `until`; None leaves that end open (R1)."""
    return (since is None or version[:3] >= since[:3]) and (until is None or version[:3] < until[:3])


def missing_feature(options: ExecOptions, version: Version | None) -> str | None:
    """Why `version` cannot do what `options` ask for, as a clause fit for a person; None when it can (S8, R1).

    A pre-release counts as its release. An unknown version (None) lacks only what every release lacks.
    """
    if options.fork is not None and options.fork.last:
        return "forking the last session is something that no release can do; give the id of the session"
    if version is None:
        return None
    if not is_supported(version):
        return f"release {version} is older than {MINIMUM}, the first one supported"
    for feature in FEATURES:
        if not feature.used(options) or feature.has(version):
            continue
        if is_within(version, feature.since, None):
            return f"{feature.name} was removed in release {feature.until}, and {version} is installed"
        return f"{feature.name} needs release {feature.since} or newer, and {version} is installed"
    return None


_VERSION_LINE = re.compile(
    r"^codex(?:-cli)? v?(\d{1,9})\.(\d{1,9})\.(\d{1,12})(?:-([0-9A-Za-z.-]{1,32}))?\s*$", re.ASCII | re.MULTILINE
)
