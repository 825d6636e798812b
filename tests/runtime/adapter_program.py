"""An adapter in a process of its own, to be killed, stopped or put into a poorer environment by a test.

    python adapter_program.py BINARY DIRECTORY ALLOWED DEMANDED

ALLOWED are levels with commas between; DEMANDED is a level or empty. The run's environment comes as JSON on standard
input. It says `started LEVEL` when the agent has said something, and in the end what became of the run.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import trio

from codex_adapter import BackendError, CodexConfig, RunRequest
from codex_adapter.runtime.backend import CodexBackend
from codex_adapter.runtime.containment import Containment


async def main(*words: str) -> None:
    binary, directory, *levels = words
    allowed: Any
    demanded: Any
    allowed, demanded = levels
    containment = Containment(demanded or None, allowed=allowed.split(","))
    backend = CodexBackend(CodexConfig(binary=binary, default_working_dir=directory), containment=containment)
    request = RunRequest(prompt="x", env=json.load(sys.stdin))
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
