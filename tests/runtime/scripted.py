"""Run a scripted source, and define the lines of its scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from codex_adapter import CodexConfig, RunHandle, codex_pipeline
from codex_adapter.agents.codex.session import SessionExpectation
from codex_adapter.runtime.handle import live_run
from codex_adapter.runtime.run import Run
from codex_adapter.testing.source import ScriptedSource, Step

THREAD = b'{"type":"thread.started","thread_id":"01a20018-057d-7ce3-b0c7-a173a1ba2c6a"}\n'
TURN = b'{"type":"turn.started"}\n'
DONE = b'{"type":"turn.completed","usage":{"input_tokens":3}}\n'
RECONNECT = b'{"type":"error","message":"Reconnecting... 2/5"}\n'


def say(text: str, number: int = 0) -> bytes:
    item = {"id": f"item_{number}", "type": "agent_message", "text": text}
    return msgspec.json.encode({"type": "item.completed", "item": item}) + b"\n"


def tool(kind: str, number: int = 1) -> bytes:
    item = {"id": f"item_{number}", "type": "command_execution", "command": "make", "status": "in_progress"}
    return msgspec.json.encode({"type": f"item.{kind}", "item": item}) + b"\n"


TURN_OF_ONE_MESSAGE = [THREAD, TURN, say("hello"), DONE]


@asynccontextmanager
async def running(
    script: list[Step],
    *,
    timeout: float | None = None,
    session: SessionExpectation | None = None,
    config: CodexConfig | None = None,
    **source: Any,
) -> AsyncIterator[tuple[RunHandle, ScriptedSource]]:
    scripted = ScriptedSource(script, **source)
    handle = Run(scripted, codex_pipeline(), config=config or CodexConfig(), timeout=timeout, session=session)
    async with live_run(handle) as run:
        yield run, scripted


async def texts(run: RunHandle) -> list[str | None]:
    return [event.text or event.message async for event in run.events]
