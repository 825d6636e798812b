"""Run an adapter in its own process, which a test can kill, stop or restrict.

    python adapter_program.py BINARY DIRECTORY ALLOWED DEMANDED [schema]

ALLOWED is a comma-separated list of levels. DEMANDED is a level or empty. With `schema`, the run has an output schema.
Standard input contains the run's environment as JSON. The program prints `started LEVEL` after the first output of the
agent, and the result of the run at the end.
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
