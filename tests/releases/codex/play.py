"""Play a case through the adapter, or with the CLI alone if the adapter does not support it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import trio

from codex_adapter import CodexConfig, RunRequest
from codex_adapter.agents.codex.extensions import SANDBOX_MODES
from codex_adapter.agents.codex.releases import quirks_of
from codex_adapter.testing import Answer, Scenario
from tests.regenerate_goldens import golden
from tests.releases.play import IDLE, LONGEST, Cue, play_run
from tests.releases.subject import Installed, Played

from .catalogue import Case, Run
from .recorder import record
from .stage import Stage, set_stage, thread_to_continue

__all__ = ["play"]

IDLE_WITHOUT_SERVER = 8.0
"""Seconds without progress; releases that do not wait for a network for ever fail by themselves before."""
MODEL_THINKS = 1.0
"""Seconds that a model takes after a command, for the releases that lose the ends of commands when it takes none."""


async def play(case: Case, release: Installed, root: Path) -> list[Played]:
    """All runs of a case, with everything that they write below `root`, which must be missing."""
    case = _with_pauses(case, release)
    if all(_can_be_asked_for(run) for run in case.runs):
        return await _play_through_adapter(case, release, root)
    return await trio.to_thread.run_sync(_play_alone, case, release, root)


def _can_be_asked_for(run: Run) -> bool:
    ordinary = run.prompt_by == "stdin" and run.skip_git_check and not run.arguments
    return ordinary and bool(run.prompt.strip()) and run.sandbox in SANDBOX_MODES


def _with_pauses(case: Case, release: Installed) -> Case:
    answers = case.scenario.answers
    if "command_completion_lost" not in quirks_of(release.version) or not 1 < len(answers) < 10:
        return case

    def later(answer: Answer) -> Answer:
        return msgspec.structs.replace(answer, delay=answer.delay + MODEL_THINKS)

    fallback = case.scenario.fallback
    scenario = Scenario(
        (answers[0], *map(later, answers[1:])), case.scenario.routes, None if fallback is None else later(fallback)
    )
    return msgspec.structs.replace(case, scenario=scenario)


def _name(case: Case, run: Run) -> str:
    return ".".join(filter(None, (case.name, run.name)))


def _play_alone(case: Case, release: Installed, root: Path) -> list[Played]:
    started = time.monotonic()
    recordings = record(case, str(release.binary), root, timeout=LONGEST)
    seconds = (time.monotonic() - started) / len(recordings)
    return [
        Played(
            scenario=_name(case, run),
            through="cli",
            stdout=recording.stdout,
            stderr=recording.stderr,
            records=golden(recording.stdout, recording.returncode),
            returncode=recording.returncode,
            error=None,
            requests=recording.requests,
            seconds=seconds,
        )
        for run, recording in zip(case.runs, recordings, strict=True)
    ]


async def _play_through_adapter(case: Case, release: Installed, root: Path) -> list[Played]:
    played: list[Played] = []
    with set_stage(case, root) as stage:
        if "asks_for_models" in quirks_of(release.version):
            _write_models_cache(Path(stage.env["CODEX_HOME"]), release)
        first: str | None = None
        for number, run in enumerate(case.runs):
            stage.write_inputs(run)
            idle = IDLE_WITHOUT_SERVER if case.unreachable else IDLE
            cue = Cue(
                scenario=_name(case, run),
                kind="codex",
                request=_request(run, stage, first),
                config=CodexConfig(idle_timeout=idle),
                server=stage.server,
                signal=run.signal,
            )
            done, session = await play_run(cue, release, root / f"run{number}")
            played.append(done)
            first = first or session
    return played


def _write_models_cache(home: Path, release: Installed) -> None:
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    cache: dict[str, Any] = {"fetched_at": now, "etag": None, "client_version": str(release.version), "models": []}
    (home / "models_cache.json").write_bytes(msgspec.json.encode(cache))


def _request(run: Run, stage: Stage, first: str | None) -> RunRequest:
    """Return the request of a run; `first` is the id of the thread that the case's first run started."""
    return RunRequest(
        prompt=run.prompt,
        working_dir=str(stage.workspace),
        env=stage.env,
        extensions=dict(_extensions(run, first)),
    )


def _extensions(run: Run, first: str | None) -> Iterable[tuple[str, Any]]:
    yield "backend.codex.exec.sandbox_mode", run.sandbox
    if run.approval != "never":
        yield "agent_api.exec.non_interactive", False
        yield "backend.codex.exec.approval_policy", run.approval
    if run.images:
        yield "backend.codex.images", list(run.images)
    if run.add_dirs:
        yield "agent_api.exec.add_dirs.v1", {"dirs": list(run.add_dirs)}
    if run.output_schema is not None:
        yield "backend.codex.output_schema", dict(run.output_schema)
    for key, session in (("resume", run.resume), ("fork", run.fork)):
        if session is not None:
            selector = {"selector": "last"}
            if session != "last":
                selector = {"selector": "id", "id": thread_to_continue(session, first)}
            yield f"agent_api.session.{key}.v1", selector
