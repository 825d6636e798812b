"""Run a scripted source, and define the lines of its scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from codex_adapter import RunConfig, RunHandle
from codex_adapter.agents.codex.session import SessionExpectation
from codex_adapter.runtime.handle import live_run
from codex_adapter.runtime.run import Run
from codex_adapter.testing.source import ScriptedSource, Step
from tests.agents.agent_lines import AgentLines
from tests.agents.codex.sample_lines import CODEX_LINES

THREAD = CODEX_LINES.session()
TURN = CODEX_LINES.turn
DONE = CODEX_LINES.completed()
RECONNECT = CODEX_LINES.trouble
say = CODEX_LINES.message
tool = CODEX_LINES.tool
TURN_OF_ONE_MESSAGE = [THREAD, TURN, say("hello"), DONE]


@asynccontextmanager
async def running(
    script: list[Step],
    *,
    timeout: float | None = None,
    session: SessionExpectation | None = None,
    config: RunConfig | None = None,
    lines: AgentLines = CODEX_LINES,
    **source: Any,
) -> AsyncIterator[tuple[RunHandle, ScriptedSource]]:
    scripted = ScriptedSource(script, **source)
    handle = Run(scripted, lines.pipeline(), config=config or RunConfig(), timeout=timeout, session=session)
    async with live_run(handle) as run:
        yield run, scripted


async def texts(run: RunHandle) -> list[str | None]:
    return [event.text or event.message async for event in run.events]
