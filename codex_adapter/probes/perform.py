"""Perform each probe with runs of the adapter, in its own workspace and CODEX_HOME, on the loopback."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import trio

from codex_adapter import AdapterError, CodexConfig, Completion, Event, RunHandle, RunRequest, open_run
from codex_adapter.agents.codex.extension_keys import SANDBOX_MODE, TOOL_PAYLOADS
from codex_adapter.agents.codex.probes.probe import FIRST_SESSION, VALUE, VARIABLE, Evidence, Probe, Seen, Start
from codex_adapter.agents.codex.releases import quirks_of
from codex_adapter.runtime.containment.marks import marked
from codex_adapter.runtime.programs import Version
from codex_adapter.testing.model_server import ModelServer
from codex_adapter.testing.scenario import Scenario

__all__ = ["perform"]

NOWHERE = "http://127.0.0.1:1"
WISHES = {SANDBOX_MODE: "danger-full-access", TOOL_PAYLOADS: "full"}
STOP_SECONDS = 3.0
EXIT_SECONDS = 2.0
LARGEST_FILE = 4096
PAUSE = 1.0
"""Seconds that the model waits with releases that otherwise lose the end of a command."""


async def perform(
    probe: Probe, directory: str | os.PathLike[str], *, binary: str | None, release: Version | None, seconds: float
) -> Evidence:
    """Perform a probe with a Codex CLI, in an empty or missing directory; each run may take `seconds` (C8).

    No request reaches a network. If cancelled, end the current run first.
    """
    root = Path(directory).resolve()
    for name in ("workspace", "home", "tmp", "extra"):
        (root / name).mkdir(parents=True)
    for name, data in probe.files.items():
        (root / "workspace" / name).write_bytes(data)
    runs: list[Seen] = []
    quirks = {} if release is None else quirks_of(release)
    scenario = _paused(probe.scenario) if "command_completion_lost" in quirks else probe.scenario
    with ModelServer(scenario) as server:
        retries = {"request_max_retries": 0, "stream_max_retries": probe.retries}
        home = server.write_codex_home(root / "codex_home", config=probe.config, provider=retries)
        if "asks_for_models" in quirks:
            _write_models_cache(Path(home), release)
        config = CodexConfig(binary=binary, codex_home=home, stop_timeout=STOP_SECONDS, exit_grace=EXIT_SECONDS)
        for start in probe.starts:
            first = runs[0].session_id if runs else None
            if FIRST_SESSION in repr(start.wishes) and first is None:
                break
            runs.append(await _run(start, root, config, server, first=first or "", seconds=seconds))
    return Evidence(tuple(runs), _files(root / "workspace"), str(root / "workspace"))


async def _run(
    start: Start, root: Path, config: CodexConfig, server: ModelServer, *, first: str, seconds: float
) -> Seen:
    word = uuid.uuid4().hex
    wishes = {**WISHES, **_with_session(start.wishes, first)}
    workspace = root / "workspace"
    env = _environment(root, word)
    request = RunRequest(prompt=start.prompt, working_dir=str(workspace), env=env, extensions=wishes, timeout=seconds)
    events: list[Event] = []
    outcome: Completion | AdapterError
    asked = len(server.requests)
    began = [time.monotonic()]
    try:
        async with open_run(request, config=config) as run, trio.open_nursery() as nursery:
            if start.cancel_upon is not None:
                os.mkfifo(workspace / start.cancel_upon)
                nursery.start_soon(_cancel_upon, workspace / start.cancel_upon, run, began)
            outcome = await _follow(run, events)
            nursery.cancel_scope.cancel()
    except AdapterError as error:
        outcome = error
    ended = time.monotonic()
    left = len(list(marked(word)))
    return Seen(tuple(events), outcome, tuple(server.requests[asked:]), left, ended - began[-1])


async def _follow(run: RunHandle, events: list[Event]) -> Completion | AdapterError:
    try:
        async for event in run.events:
            events.append(event)
        return await run.wait_completed()
    except AdapterError as error:
        return error


async def _cancel_upon(pipe: Path, run: RunHandle, began: list[float]) -> None:
    """Cancel the run when a command writes to the pipe."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        await trio.lowlevel.wait_readable(reader)
    finally:
        os.close(reader)
    began.append(time.monotonic())
    run.cancel()


def _with_session(wishes: Mapping[str, Any], first: str) -> dict[str, Any]:
    text = msgspec.json.encode(wishes).decode().replace(FIRST_SESSION, msgspec.json.encode(first).decode()[1:-1])
    filled: dict[str, Any] = msgspec.json.decode(text)
    return filled


def _environment(root: Path, word: str) -> dict[str, str]:
    # HOME is empty, so that the agent's shells read no profile. The proxy does not exist, so that every request to the
    # network fails immediately.
    return {
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        VARIABLE: VALUE,
        "CODEX_ADAPTER_PROBE": word,
        **dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"), NOWHERE),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1"),
    }


def _paused(scenario: Scenario) -> Scenario:
    slow = [msgspec.structs.replace(answer, delay=PAUSE) for answer in scenario.answers[1:]]
    return msgspec.structs.replace(scenario, answers=(*scenario.answers[:1], *slow))


def _write_models_cache(home: Path, release: Version | None) -> None:
    """Write a list of models, because without one each run spends seconds on a search."""
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    cache: dict[str, object] = {"fetched_at": now, "etag": None, "client_version": str(release), "models": []}
    (home / "models_cache.json").write_bytes(msgspec.json.encode(cache))


def _files(workspace: Path) -> dict[str, str]:
    files = (path for path in workspace.iterdir() if path.is_file() and path.stat().st_size <= LARGEST_FILE)
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in files}
