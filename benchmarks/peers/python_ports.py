"""Run an agent once with a Python port of the TypeScript SDK, MODULE AGENT, and print the number of its events.

If the port fails, the reason follows the number. Both measured ports have the same classes and methods.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from typing import Any


async def main(module: str, agent: str) -> None:
    """Count the events of one run."""
    sdk: Any = importlib.import_module(f"{module}.codex")
    count, failure = 0, ""
    try:
        thread = sdk.Codex(sdk.CodexOptions(codex_path_override=agent)).start_thread()
        streamed = await thread.run_streamed("x")
        async for _ in streamed.events:
            count += 1
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the result
        failure = type(error).__name__
    print(count, failure, flush=True)
    if failure:
        # What asyncio and a port do then about the run that was left is not always finite.
        os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
