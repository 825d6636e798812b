"""Define a case of the catalogue of Claude Code: a scenario of the model, and the runs of the CLI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from codex_adapter.testing import Scenario

__all__ = ["FIRST_SESSION", "WORKSPACE", "Case", "Run"]

FIRST_SESSION = "{first}"
"""In `Run.extensions`: the id of the session that the case's first run started."""
WORKSPACE = "{workspace}"
"""In a scenario: the path of the directory of the run."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One start of the CLI within a case; `name` distinguishes it from the others.

    `extensions` are those of the request, `env` its variables. `signal` is sent to the CLI as soon as a tool is in use.
    """

    name: str = ""
    prompt: str = "Do it."
    extensions: Mapping[str, Any] = {}
    env: Mapping[str, str] = {}
    signal: str | None = None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One behavior of the CLI, as plain data (TK4).

    The runs follow each other, with one configuration directory, one workspace and one server. `since` is the first
    release to which the case applies, None for all.
    """

    name: str
    about: str
    scenario: Scenario
    runs: tuple[Run, ...] = (Run(),)
    since: str | None = None
