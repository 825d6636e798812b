"""Refuse to run under another event loop than trio's, with an error that names the next step."""

from __future__ import annotations

import sys

import trio

__all__ = ["require_trio"]


def require_trio() -> None:
    """Raise RuntimeError unless the caller runs under trio (P8)."""
    if trio.lowlevel.in_trio_task():
        return
    # Code that runs under asyncio has loaded asyncio. All other code is spared the import.
    asyncio = sys.modules.get("asyncio")
    loop = "asyncio" if asyncio is not None and asyncio._get_running_loop() is not None else "another event loop"
    raise RuntimeError(
        f"codex_adapter needs trio, and this code runs under {loop}. Call codex_adapter.sync.run(request), "
        "which works under any event loop and without one, or start the program with trio.run(main)."
    )
