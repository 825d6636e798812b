"""What a case of the catalogue is: a scenario, and all that the CLI must be given to be driven through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ..scenario import Scenario

__all__ = ["FIRST_THREAD", "Case", "Run"]

FIRST_THREAD = "{first}"
"""In `Run.resume` and `Run.fork`: the id of the thread that the case's first run started."""

WORKSPACE: Mapping[str, str] = {
    "a.txt": "alpha\nbeta\ngamma\n",
    "b.txt": "to be deleted\n",
    "c.txt": "to be renamed\n",
}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One start of the CLI within a case; `name` tells it from the others.

    The prompt goes to standard input, as the only argument, or both ways. Paths are relative to the workspace: `images`
    are to be made there, `add_dirs` beside it. `arguments` are flags that only this case is about. `signal` is sent
    to the CLI as soon as a command has started.
    """

    name: str = ""
    prompt: str = "Do it."
    prompt_by: Literal["stdin", "argument", "both"] = "stdin"
    sandbox: str = "workspace-write"
    approval: str = "never"
    resume: str | None = None
    fork: str | None = None
    images: tuple[str, ...] = ()
    add_dirs: tuple[str, ...] = ()
    output_schema: Mapping[str, Any] | None = None
    skip_git_check: bool = True
    arguments: tuple[str, ...] = ()
    signal: str | None = None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the CLI can be driven through (TK4).

    `runs` come one after the other, with one CODEX_HOME, one workspace and one server. `config` is more TOML for
    `config.toml`. `files` are what the workspace has in it before the first run.
    """

    name: str
    about: str
    scenario: Scenario = Scenario()
    runs: tuple[Run, ...] = (Run(),)
    model: str = "mock-model"
    config: str = ""
    files: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(WORKSPACE))
