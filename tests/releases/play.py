"""Play a case through the adapter, or with the CLI alone if the adapter does not support it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import trio

from codex_adapter import AdapterError, CodexConfig, Completion, RunRequest, open_run
from codex_adapter.agents.codex.extensions import SANDBOX_MODES
from codex_adapter.agents.codex.releases import quirks_of
from codex_adapter.events import Event, ToolCall
from codex_adapter.records import encode_completion, encode_events
from codex_adapter.testing import Answer, Scenario
from tests.regenerate_goldens import golden
from tests.releases.catalogue import Case, Run
from tests.releases.recorder import record
from tests.releases.stage import Stage, set_stage, thread_to_continue

from .install import Installed
from .marks import Mark
from .stand_in import write_stand_in

__all__ = ["Played", "play"]

LONGEST = 150.0
"""Seconds that a run may take."""
IDLE = 60.0
IDLE_WITHOUT_SERVER = 8.0
"""Seconds without progress; releases that do not wait for a network for ever fail by themselves before."""
GONE = 3.0
"""Seconds in which the last processes of a run that is over must have gone."""
MODEL_THINKS = 1.0
"""Seconds that a model takes after a command, for the releases that lose the ends of commands when it takes none."""


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of a case gave: stdout and stderr of the CLI, and the records of the adapter.

    `returncode` is as in `subprocess`, None where the adapter refused or ended the run; `error` says then why. `left`
    counts processes that were left behind. `through` the CLI alone there are no live records, but those of a replay.
    """

    scenario: str
    through: Literal["adapter", "cli"]
    stdout: bytes
    stderr: bytes
    records: bytes
    returncode: int | None
    error: str | None
    requests: int
    seconds: float
    left: int = 0


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
            done, session = await _play_run(_Cue(case, run, stage, first), release, root / f"run{number}")
            played.append(done)
            first = first or session
    return played


def _write_models_cache(home: Path, release: Installed) -> None:
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    cache: dict[str, Any] = {"fetched_at": now, "etag": None, "client_version": str(release.version), "models": []}
    (home / "models_cache.json").write_bytes(msgspec.json.encode(cache))


class _Cue(msgspec.Struct, frozen=True):
    """What a run is played with; `first` is the id of the thread that the case's first run started."""

    case: Case
    run: Run
    stage: Stage
    first: str | None

    def request(self, env: dict[str, str]) -> RunRequest:
        """The run as the adapter is asked for it."""
        return RunRequest(
            prompt=self.run.prompt,
            working_dir=str(self.stage.workspace),
            timeout=LONGEST,
            env=self.stage.env | env,
            extensions=dict(self._extensions()),
        )

    def _extensions(self) -> Iterable[tuple[str, Any]]:
        run = self.run
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
                    selector = {"selector": "id", "id": thread_to_continue(session, self.first)}
                yield f"agent_api.session.{key}.v1", selector


async def _play_run(cue: _Cue, release: Installed, beside: Path) -> tuple[Played, str | None]:
    beside.mkdir()
    stdout, stderr, mark = beside / "stdout", beside / "stderr", Mark()
    write_stand_in(beside / "codex", release.binary, stdout=stdout, stderr=stderr)
    idle = IDLE_WITHOUT_SERVER if cue.case.unreachable else IDLE
    config = CodexConfig(binary=str(beside / "codex"), idle_timeout=idle)
    asked, started = len(cue.stage.server.requests), time.monotonic()
    events: list[Event] = []
    outcome: Completion | AdapterError
    session = None
    try:
        async with open_run(cue.request(mark.env), config=config) as run:
            async for event in run.events:
                events.append(event)
                if cue.run.signal is not None and _is_command_under_way(event):
                    mark.signal(release.binary, cue.run.signal)
            session = run.session_id
            outcome = await run.wait_completed()
    except AdapterError as error:
        outcome = error
    seconds = time.monotonic() - started
    with trio.move_on_after(GONE):
        while mark.living():  # noqa: ASYNC110 - nobody tells when a process of somebody else has gone
            await trio.sleep(0.05)
    status = outcome.status if isinstance(outcome, Completion) else None
    done = Played(
        scenario=_name(cue.case, cue.run),
        through="adapter",
        stdout=_read(stdout),
        stderr=_read(stderr),
        records=encode_events(events) + encode_completion(len(events), outcome),
        returncode=None if status is None else (-(status.signal_number or 0) if status.code is None else status.code),
        error=None if isinstance(outcome, Completion) else _why(outcome),
        requests=len(cue.stage.server.requests) - asked,
        seconds=seconds,
        left=len(mark.living()),
    )
    return done, session


def _why(error: AdapterError) -> str:
    advice = getattr(error, "advice", None)
    return f"{error}: {advice}" if advice else str(error)


def _is_command_under_way(event: Event) -> bool:
    return event.kind == "tool_call" and isinstance(event.data, ToolCall) and event.data.tool.phase == "start"


def _read(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""
