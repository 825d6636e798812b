"""Run a release through the adapter, and keep what the CLI prints and what the adapter reports."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import trio

from codex_adapter import AdapterError, Completion, RunConfig, RunRequest, open_run
from codex_adapter.events import Event, ToolCall
from codex_adapter.records import encode_completion, encode_events
from codex_adapter.testing import ModelServer

from .marks import Mark
from .stand_in import write_stand_in
from .subject import Installed, Played

__all__ = ["IDLE", "LONGEST", "Cue", "play_run"]

LONGEST = 150.0
"""Seconds that a run may take."""
IDLE = 60.0
"""Seconds without progress."""
GONE = 3.0
"""Seconds in which the last processes of a run that is over must have gone."""


class Cue(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a case: the request, and the configuration whose `binary` the run replaces by a copier.

    `signal` is sent to the CLI as soon as a tool is in use.
    """

    scenario: str
    kind: str
    request: RunRequest
    config: RunConfig
    server: ModelServer
    signal: str | None = None


async def play_run(cue: Cue, release: Installed, beside: Path) -> tuple[Played, str | None]:
    """Play a run with files in the new directory `beside`. Return the result, and the id of its session or None."""
    beside.mkdir()
    stdout, stderr, mark = beside / "stdout", beside / "stderr", Mark()
    program = beside / "agent"
    write_stand_in(program, release.binary, stdout=stdout, stderr=stderr)
    config = msgspec.structs.replace(cue.config, binary=str(program))
    request = msgspec.structs.replace(cue.request, env={**cue.request.env, **mark.env}, timeout=LONGEST)
    asked, started = len(cue.server.requests), time.monotonic()
    events: list[Event] = []
    outcome: Completion | AdapterError
    session = None
    try:
        async with open_run(request, agent=cue.kind, config=config) as run:
            async for event in run.events:
                events.append(event)
                if cue.signal is not None and _is_tool_in_use(event):
                    mark.signal(int(Path(f"{stdout}.pid").read_text()), cue.signal)
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
        scenario=cue.scenario,
        through="adapter",
        stdout=_read(stdout),
        stderr=_read(stderr),
        records=encode_events(events) + encode_completion(len(events), outcome),
        returncode=None if status is None else (-(status.signal_number or 0) if status.code is None else status.code),
        error=None if isinstance(outcome, Completion) else _why(outcome),
        requests=len(cue.server.requests) - asked,
        seconds=seconds,
        left=len(mark.living()),
    )
    return done, session


def _why(error: AdapterError) -> str:
    advice = getattr(error, "advice", None)
    return f"{error}: {advice}" if advice else str(error)


def _is_tool_in_use(event: Event) -> bool:
    return event.kind == "tool_call" and isinstance(event.data, ToolCall) and event.data.tool.phase == "start"


def _read(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""
