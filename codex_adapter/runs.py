"""Open runs of an agent by its kind, and replays of recordings (Q, Y, K5)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

from codex_adapter.agents import agent_of
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.errors import DEFAULT_AGENT, InvalidRequestError
from codex_adapter.events import Completion, ExitStatus
from codex_adapter.request import RunConfig, RunRequest
from codex_adapter.runtime.backend import NO_VARIABLES, AgentBackend
from codex_adapter.runtime.event_loop import require_trio
from codex_adapter.runtime.handle import RunHandle, live_run
from codex_adapter.runtime.replay import open_recording
from codex_adapter.runtime.run import Run

__all__ = ["check_request", "collect", "open_replay", "open_run"]


def open_run(
    request: RunRequest,
    *,
    agent: str = DEFAULT_AGENT,
    config: RunConfig | None = None,
    mask_env: Mapping[str, str] = NO_VARIABLES,
) -> AbstractAsyncContextManager[RunHandle]:
    """Start a run of an agent; return an async context manager of its handle.

    `mask_env` are variables of processes that the run starts but does not have itself. Their values are masked too.

    Entering checks the request and starts the agent. It raises `InvalidRequestError`, `UnsupportedCapabilityError` or
    `BackendError`, and then no process is left. Leaving normally drops the remaining events and waits for the end of
    the run. Leaving by an exception or a cancelled scope ends the run first. No process of the run is left (K4, K5,
    X5).
    """
    return AgentBackend(agent_of(agent), config).open_run(request, mask_env=mask_env)


async def check_request(request: RunRequest, *, agent: str = DEFAULT_AGENT, config: RunConfig | None = None) -> None:
    """Check a request without starting anything. Raise the errors of `open_run` that need no process (Q)."""
    await AgentBackend(agent_of(agent), config).check(request)


@asynccontextmanager
async def open_replay(
    recording: str | os.PathLike[str] | int,
    *,
    agent: str = DEFAULT_AGENT,
    exit_status: int = 0,
    interval: float = 0.0,
    full_payloads: bool = False,
) -> AsyncIterator[RunHandle]:
    """Replay a recorded stream as a run, with the events and the completion of the live run.

    `recording` is a path or an open descriptor, such as a pipe, which remains open. `exit_status` is the return code of
    the recorded agent, negative for a signal. `interval` is the delay in seconds before each line. With
    `full_payloads`, tool calls have their input and output. Raise `InvalidRequestError` for an unreadable file (Y1,
    Y2).
    """
    require_trio()
    if not 0 <= interval < float("inf"):
        raise InvalidRequestError("interval must be a finite number of seconds, not negative")
    source = open_recording(recording, exit_status=ExitStatus.from_returncode(exit_status), interval=interval)
    its = agent_of(agent)
    pipeline = Pipeline(partial(its.decoder, full_payloads=full_payloads), advice=its.advice)
    async with live_run(Run(source, pipeline, config=RunConfig())) as run:
        yield run


async def collect(request: RunRequest, *, agent: str = DEFAULT_AGENT, config: RunConfig | None = None) -> Completion:
    """Run to the end without reading events. Return the completion, or raise as `open_run` and `wait_completed` do."""
    async with open_run(request, agent=agent, config=config) as run:
        await run.events.aclose()
        return await run.wait_completed()
