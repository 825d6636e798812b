"""Define a case of the catalogue: a scenario and all inputs of the CLI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from codex_adapter.testing.scenario import Scenario

__all__ = ["FEW_RETRIES", "FIRST_THREAD", "Case", "Run"]

FIRST_THREAD = "{first}"
"""In `Run.resume` and `Run.fork`: the id of the thread that the case's first run started."""

FEW_RETRIES: Mapping[str, str | int | bool] = {"request_max_retries": 0, "stream_max_retries": 1}
"""For `Case.provider`: the CLI tries once more, and not for half a minute."""

WORKSPACE: Mapping[str, str] = {
    "a.txt": "alpha\nbeta\ngamma\n",
    "b.txt": "to be deleted\n",
    "c.txt": "to be renamed\n",
}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One start of the CLI within a case; `name` tells it from the others.

    The prompt goes to standard input, as the only argument, or both ways. Paths are relative to the workspace: `images`
    are to be made there, unless the case has files of these names, `add_dirs` beside it. `arguments` are flags that
    only this case is about. `signal` is sent to the CLI as soon as a command has started.
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
    `config.toml`, `provider` more settings of the model provider in it. `files` are what the workspace has in it before
    the first run. `unreachable` is for a server that is gone before the first run. `since` is the first release that
    has what the case is about.
    """

    name: str
    about: str
    scenario: Scenario = Scenario()
    runs: tuple[Run, ...] = (Run(),)
    model: str = "mock-model"
    config: str = ""
    provider: Mapping[str, str | int | bool] = {}
    unreachable: bool = False
    since: str | None = None
    files: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(WORKSPACE))
