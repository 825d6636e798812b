"""Play a case of Claude Code through the adapter, with a scripted Messages API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from codex_adapter import RunRequest
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.testing import ModelServer, Scenario
from tests.releases.play import IDLE, Cue, play_run
from tests.releases.subject import Installed, Played

from .case import FIRST_SESSION, WORKSPACE, Case, Run

__all__ = ["play"]

NOWHERE = "http://127.0.0.1:1"
"""A proxy that does not exist, so that nothing reaches a network."""


async def play(case: Case, release: Installed, root: Path) -> list[Played]:
    """Play all runs of a case. All their files are below `root`, which does not exist yet."""
    workspace = root / "workspace"
    for folder in (workspace, root / "home", root / "config", root / "tmp"):
        folder.mkdir(parents=True)
    played: list[Played] = []
    first: str | None = None
    with ModelServer(_with_words(case.scenario, Scenario, {WORKSPACE: str(workspace)})) as server:
        for number, run in enumerate(case.runs):
            if first is not None:
                run = _with_words(run, Run, {FIRST_SESSION: first})  # noqa: PLW2901 - the same run, with its session
            cue = Cue(
                scenario=".".join(filter(None, (case.name, run.name))),
                kind="claude_code",
                request=_request(run, server, root),
                config=ClaudeConfig(config_dir=str(root / "config"), idle_timeout=IDLE),
                server=server,
                signal=run.signal,
            )
            done, session = await play_run(cue, release, root / f"run{number}")
            played.append(done)
            first = first or session
    return played


def _request(run: Run, server: ModelServer, root: Path) -> RunRequest:
    env = {
        **{"HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "SHELL": "/bin/bash"},
        **{"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.port}", "ANTHROPIC_API_KEY": "sk-ant-scripted"},
        **{"CLAUDE_CODE_MAX_RETRIES": "1", "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
        **run.env,
    }
    return RunRequest(prompt=run.prompt, working_dir=str(root / "workspace"), env=env, extensions=run.extensions)


def _with_words(value: Any, type_: Any, words: dict[str, str]) -> Any:
    """Return plain data with each word replaced by its text."""
    text = msgspec.json.encode(value)
    for word, replacement in words.items():
        text = text.replace(word.encode(), replacement.encode())
    return msgspec.json.decode(text, type=type_)
