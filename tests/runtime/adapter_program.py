"""An adapter in a process of its own, to be killed, stopped or put into a poorer environment by a test.

    python adapter_program.py BINARY DIRECTORY ALLOWED DEMANDED [schema]

ALLOWED are levels with commas between; DEMANDED is a level or empty; with `schema` the run has one. The run's
environment comes as JSON on standard input. It says `started LEVEL` when the agent has said something, and in the end
what became of the run.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import trio

from codex_adapter import BackendError, CodexConfig, RunRequest
from codex_adapter.agents.codex.backend import CodexBackend
from codex_adapter.runtime.containment.containment import Containment


async def main(*words: str) -> None:
    binary, directory, allowed, *rest = words
    demanded: Any = rest[0]
    levels: Any = allowed.split(",")
    containment = Containment(demanded or None, allowed=levels)
    backend = CodexBackend(CodexConfig(binary=binary, default_working_dir=directory), containment=containment)
    extensions: dict[str, Any] = {"backend.codex.output_schema": {}} if rest[1:] else {}
    request = RunRequest(prompt="x", env=json.load(sys.stdin), extensions=extensions)
    try:
        async with backend.open_run(request) as run:
            await run.events.receive()
            print("started", containment.level, flush=True)
            await run.events.aclose()
            print((await run.wait_completed()).status)
    except BackendError as error:
        print(error.failure, error.advice)


if __name__ == "__main__":
    trio.run(main, *sys.argv[1:])
