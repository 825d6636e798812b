"""Describe the differences between the releases of an agent CLI in one table (R1, S8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from codex_adapter.runtime.programs import Version

__all__ = ["Feature", "Need", "Quirk", "ReleaseTable"]

OptionsT = TypeVar("OptionsT")


class _Row(msgspec.Struct, frozen=True):
    """A behavior of the releases from `since` on and before `until`; None leaves that end open.

    Code and tests look up a row by `name`. `about` describes it to a person.
    """

    name: str
    about: str
    since: Version | None = None
    until: Version | None = None

    def holds(self, version: Version) -> bool:
        """Return whether a release has this behavior. A pre-release counts as its release. (R1)"""
        return not self.is_before(version) and (self.until is None or version[:3] < self.until[:3])

    def is_before(self, version: Version) -> bool:
        """Return whether a release is older than the first release with this behavior."""
        return self.since is not None and version[:3] < self.since[:3]


class Feature(_Row, frozen=True, kw_only=True):
    """A capability that a request can ask for; `used` returns whether the agent's options do (S8)."""

    used: Callable[[Any], bool]


class Need(_Row, frozen=True):
    """A capability of the release that a turn can need (U9)."""


class Quirk(_Row, frozen=True):
    """Any other behavior that the adapter, its probes or its tests must know."""


class ReleaseTable(Generic[OptionsT]):
    """The differences between the releases of one agent CLI; `minimum` is the first supported release.

    The rows are independent of each other. Options that no release supports are refused with the text that `impossible`
    returns for them. (R1)
    """

    def __init__(
        self,
        minimum: Version,
        rows: Sequence[Feature | Need | Quirk],
        *,
        impossible: Callable[[OptionsT], str | None] = lambda options: None,
    ) -> None:
        self.minimum = minimum
        self.features = tuple(row for row in rows if isinstance(row, Feature))
        self.needs = tuple(row for row in rows if isinstance(row, Need))
        self.quirks = tuple(row for row in rows if isinstance(row, Quirk))
        self._impossible = impossible
        self._needs = {row.name: row for row in self.needs}
        self._quirks = {row.name: row for row in self.quirks}

    def need(self, name: str) -> Need:
        """Return a need by its name. Raise KeyError if the table does not have it."""
        return self._needs[name]

    def quirk(self, name: str) -> Quirk:
        """Return a quirk by its name. Raise KeyError if the table does not have it."""
        return self._quirks[name]

    def quirks_of(self, version: Version) -> dict[str, Quirk]:
        """Return the quirks of a release by name (R1)."""
        return {row.name: row for row in self.quirks if row.holds(version)}

    def features_of(self, version: Version) -> dict[str, bool]:
        """Return each feature and need by its description, and whether this release has it (R1)."""
        return {row.about: row.holds(version) for row in (*self.features, *self.needs)}

    def differences_of(self, version: Version) -> dict[str, str]:
        """Return the quirks in which this release differs from another one: descriptions by name (R1)."""
        return {name: quirk.about for name, quirk in self.quirks_of(version).items() if quirk.since or quirk.until}

    def needs_version(self, options: OptionsT) -> bool:
        """Return whether `options` need a feature that some supported release does not have (S8)."""
        return any(feature.used(options) for feature in self.features)

    def is_supported(self, version: Version) -> bool:
        """Return whether the adapter understands the output of a release (S8, R1)."""
        return version[:3] >= self.minimum[:3]

    def missing_feature(self, options: OptionsT, version: Version | None) -> str | None:
        """Return why a release does not support `options`, for a person; None if it does (S8, R1).

        A pre-release counts as its release. An unknown release (None) has all features that some release has.
        """
        impossible = self._impossible(options)
        if impossible is not None or version is None:
            return impossible
        if not self.is_supported(version):
            return f"release {version} is older than {self.minimum}, the first supported release"
        for feature in self.features:
            if not feature.used(options) or feature.holds(version):
                continue
            if feature.is_before(version):
                return f"{feature.about}: release {feature.since} or newer is required, but {version} is installed"
            return f"{feature.about}: removed in release {feature.until}, but {version} is installed"
        return None
