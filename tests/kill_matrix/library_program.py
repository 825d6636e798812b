"""Use the library and end the run from inside the program at SIGUSR1.

    python library_program.py LEVEL WAY AGENT BINARY MODE

WAY is one of four. `raise` leaves the block with an exception. `scope` cancels the scope around it. `cancel` cancels
twice from two tasks. `kill` kills the run. The exit status is 0 if the result is the expected one.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import trio

from codex_adapter import AgentBackend, RunCancelled, RunHandle, RunRequest
from codex_adapter.agents import agent_of
from codex_adapter.runtime.containment.containment import Containment


class Interrupted(Exception):
    """What the caller's own block raises."""


async def main(*words: str) -> int:
    level: Any
    level, way, kind, binary, mode = words
    agent = agent_of(kind)
    backend = AgentBackend(agent, agent.config_type(binary=binary), containment=Containment(allowed=[level]))
    settings = {f"backend.{kind}.exec.sandbox_mode": mode}
    request = RunRequest(prompt="Do it.", env=dict(os.environ), extensions=settings)
    with trio.open_signal_receiver(signal.SIGUSR1) as signals:
        try:
            with trio.CancelScope() as scope:
                async with backend.open_run(request) as run:
                    async for _ in signals:
                        break
                    await end(run, way, scope)
        except Interrupted:
            return 0 if way == "raise" else 1
        except RunCancelled:
            return 0 if way in ("cancel", "kill") else 1
    return 0 if way == "scope" and scope.cancelled_caught else 1


async def end(run: RunHandle, way: str, scope: trio.CancelScope) -> None:
    """End the run in this way."""
    if way == "raise":
        raise Interrupted
    if way == "scope":
        scope.cancel()
        await trio.lowlevel.checkpoint()
    elif way == "kill":
        run.kill()
    else:
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(trio.to_thread.run_sync, trio.from_thread.run_sync, run.cancel)
    await run.wait_completed()


if __name__ == "__main__":
    sys.exit(trio.run(main, *sys.argv[1:]))
