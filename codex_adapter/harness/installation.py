"""Find the installed CLI of a harness, its release, and the models that it lists (U5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from codex_adapter import AdapterError
from codex_adapter.runtime.programs import Version
from codex_adapter.turn_errors import TurnError

__all__ = ["Installation", "Installed"]


class Installed(NamedTuple):
    """A binary and its release. A binary that reports no release (None) is treated as the newest release."""

    path: str
    release: Version | None


class Installation(ABC):
    """The CLI of a configuration. `name` is its name for a person, `oldest` the oldest release for turns."""

    def __init__(self, name: str, oldest: Version) -> None:
        self._name = name
        self._oldest = oldest

    @abstractmethod
    async def installed(self, env: Mapping[str, str]) -> Installed:
        """Return the CLI that a run with these variables executes. Raise `SpawnError` or OSError."""

    @abstractmethod
    async def listed(self, found: Installed) -> tuple[str, ...] | None:
        """Return the names of the models that the CLI lists, its default first (U5).

        Return None if it cannot list them now, and an empty tuple if it has no list. If its release is unknown, also
        return None if it has no list.
        """

    async def find(self, env: Mapping[str, str]) -> Installed:
        """Return the CLI that a run with these variables executes.

        Raise `SpawnError` or OSError. Raise `TurnError` if its release does not support turns (U9).
        """
        found = await self.installed(env)
        release = found.release
        if release is not None and release[:3] < self._oldest[:3]:
            raise TurnError(f"Turns need release {self._oldest} or newer of {self._name}, but {release} is installed.")
        return found

    async def works(self) -> bool:
        """Return whether a CLI is installed. Raise `TurnError` for an old release (U5)."""
        try:
            found = await self.find({})
        except (AdapterError, OSError):
            return False
        # A program that reports no release must list models to count as this CLI.
        return found.release is not None or await self.listed(found) is not None

    async def models(self) -> tuple[str, ...] | None:
        """Return `listed` of the CLI of a run that sets no variables; None also if it does not work (U5)."""
        try:
            return await self.listed(await self.find({}))
        except (AdapterError, TurnError, OSError):
            return None
