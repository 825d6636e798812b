"""Perform each probe with runs of the adapter, in its own workspace and settings, on the loopback."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import trio

from codex_adapter import AdapterError, Completion, Event, RunHandle, RunRequest, open_run
from codex_adapter.events import SessionHandle
from codex_adapter.probes.probe import (
    CANARY,
    CANARY_VARIABLE,
    FIRST_SESSION,
    VALUE,
    VARIABLE,
    WORKSPACE,
    Evidence,
    Probe,
    Seen,
    Start,
)
from codex_adapter.probes.stage import STOP_SECONDS, Connection, Stage, isolate
from codex_adapter.runtime.containment.marks import marked
from codex_adapter.runtime.programs import Version
from codex_adapter.testing.model_server import ModelServer
from codex_adapter.testing.scenario import Scenario

__all__ = ["perform"]

T = TypeVar("T")
LARGEST_FILE = 4096
SESSION_SECONDS = 10.0
"""Seconds to wait for the id of the session when a command has begun. A CLI reports it before."""


async def perform(
    probe: Probe,
    stage: Stage,
    directory: str | os.PathLike[str],
    *,
    binary: str | None,
    release: Version | None,
    seconds: float,
) -> Evidence:
    """Perform a probe with an agent CLI, in an empty or missing directory; each run may take `seconds` (C8).

    No request reaches a network. If cancelled, end the current run first.
    """
    root = Path(directory).resolve()
    for name in ("workspace", "home", "tmp", "extra"):
        (root / name).mkdir(parents=True)
    for name, data in probe.files.items():
        (root / "workspace" / name).write_bytes(data)
    runs: list[Seen] = []
    scenario = _filled(stage.scenario(probe, release), Scenario, WORKSPACE, str(root / "workspace"))
    with ModelServer(scenario) as server:
        connection = stage.connect(probe, server, root, binary=binary, release=release)
        for start in probe.starts:
            first = runs[0].session_id if runs else None
            if FIRST_SESSION in repr(start.wishes) and first is None:
                break
            runs.append(await _run(start, stage, root, connection, server, first=first or "", seconds=seconds))
    return Evidence(tuple(runs), _files(root / "workspace"), str(root / "workspace"))


async def _run(
    start: Start, stage: Stage, root: Path, connection: Connection, server: ModelServer, *, first: str, seconds: float
) -> Seen:
    word = uuid.uuid4().hex
    workspace = root / "workspace"
    config = msgspec.structs.replace(connection.config, stop_timeout=STOP_SECONDS)
    request = RunRequest(
        prompt=start.prompt,
        working_dir=str(workspace),
        env={
            **isolate(os.environ, root, stage),
            **{VARIABLE: VALUE, CANARY_VARIABLE: CANARY, "CODEX_ADAPTER_PROBE": word},
            **connection.env,
        },
        extensions={**stage.extensions, **_filled(start.wishes, dict[str, Any], FIRST_SESSION, first)},
        timeout=seconds,
    )
    events = _Events()
    outcome: Completion | AdapterError
    asked = len(server.requests)
    try:
        async with open_run(request, agent=stage.kind, config=config) as run, trio.open_nursery() as nursery:
            if start.cancel_upon is not None:
                os.mkfifo(workspace / start.cancel_upon)
                nursery.start_soon(_cancel_upon, workspace / start.cancel_upon, run, events)
            outcome = await _follow(run, events)
            nursery.cancel_scope.cancel()
    except AdapterError as error:
        outcome = error
    return Seen(tuple(events), outcome, tuple(server.requests[asked:]), len(list(marked(word))))


class _Events(list[Event]):
    """The events of a run so far. `named` is set when one of them names the session."""

    def __init__(self) -> None:
        super().__init__()
        self.named = trio.Event()


async def _follow(run: RunHandle, events: _Events) -> Completion | AdapterError:
    try:
        async for event in run.events:
            events.append(event)
            if isinstance(event.data, SessionHandle):
                events.named.set()
        return await run.wait_completed()
    except AdapterError as error:
        return error


async def _cancel_upon(pipe: Path, run: RunHandle, events: _Events) -> None:
    """Cancel the run when a command writes to the pipe. Events that were not read before would be dropped."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        await trio.lowlevel.wait_readable(reader)
    finally:
        os.close(reader)
    with trio.move_on_after(SESSION_SECONDS):
        await events.named.wait()
    run.cancel()


def _filled(value: object, type_: type[T], placeholder: str, text: str) -> T:
    """Return plain data with a placeholder replaced by a text."""
    data = msgspec.json.encode(value)
    return msgspec.json.decode(data.replace(placeholder.encode(), msgspec.json.encode(text)[1:-1]), type=type_)


def _files(workspace: Path) -> dict[str, str]:
    files = (path for path in workspace.iterdir() if path.is_file() and path.stat().st_size <= LARGEST_FILE)
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in files}
