"""Define a case as plain data, and play it: a scenario of the model, and the runs of the CLI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from codex_adapter import RunConfig, RunRequest
from codex_adapter.testing import ModelServer, Scenario

from .play import Cue, play_run
from .subject import Installed, Played

__all__ = ["FIRST_SESSION", "WORKSPACE", "Case", "Run", "play_case"]

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


Prepare = Callable[[Run, ModelServer, Path], tuple[RunRequest, RunConfig]]
"""A function that returns the request and the configuration of a run, with files below a directory."""


async def play_case(kind: str, case: Case, release: Installed, root: Path, prepare: Prepare) -> list[Played]:
    """Play all runs of a case. All their files are below `root`, which does not exist yet."""
    workspace = root / "workspace"
    for folder in (workspace, root / "home", root / "tmp"):
        folder.mkdir(parents=True)
    played: list[Played] = []
    first: str | None = None
    with ModelServer(_with_words(case.scenario, Scenario, {WORKSPACE: str(workspace)})) as server:
        for number, run in enumerate(case.runs):
            if first is not None:
                run = _with_words(run, Run, {FIRST_SESSION: first})  # noqa: PLW2901 - the same run, with its session
            request, config = prepare(run, server, root)
            cue = Cue(
                scenario=".".join(filter(None, (case.name, run.name))),
                kind=kind,
                request=request,
                config=config,
                server=server,
                signal=run.signal,
            )
            done, session = await play_run(cue, release, root / f"run{number}")
            played.append(done)
            first = first or session
    return played


def _with_words(value: Any, type_: Any, words: dict[str, str]) -> Any:
    """Return plain data with each word replaced by its text."""
    text = msgspec.json.encode(value)
    for word, replacement in words.items():
        text = text.replace(word.encode(), replacement.encode())
    return msgspec.json.decode(text, type=type_)
