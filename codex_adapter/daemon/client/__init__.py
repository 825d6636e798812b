"""Runs of a daemon, used as those of this process are: `open_daemon` gives a backend (J15)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, cast

import trio
from trio.abc import ReceiveStream, SendStream

from codex_adapter.daemon.client.backend import DaemonBackend
from codex_adapter.daemon.client.connection import PATIENCE, Connection
from codex_adapter.runtime.event_loop import require_trio

__all__ = ["DaemonBackend", "open_daemon"]

# Nothing that lies in the working directory is imported (-P).
_PROGRAM: Final = (sys.executable, "-P", "-m", "codex_adapter", "serve")


@asynccontextmanager
async def open_daemon(*options: str, program: Sequence[str] = _PROGRAM) -> AsyncIterator[DaemonBackend]:
    """Start a daemon with these options of `codex-adapter serve`; its backend opens runs, any number at once (J15).

    It has the environment and the working directory that this process has now, and its stderr. Leaving the block ends
    what is left of its runs, and the daemon, in a bounded time. Raises OSError when it cannot be started, and
    `BackendError` (`other`) when it does not answer as a daemon does; its stderr then says more.
    """
    require_trio()
    # In a session of its own, as agents are: whom the terminal interrupts is for this process to decide.
    process = await trio.lowlevel.open_process(
        [*program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    connection = Connection(cast("SendStream", process.stdin), cast("ReceiveStream", process.stdout), process.kill)
    ended = trio.Event()
    error: BaseException | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_carry, connection, process, ended)
        try:
            yield DaemonBackend(connection, await connection.initialize())
        # Raised again below, outside the nursery that would wrap it.
        except BaseException as raised:  # noqa: BLE001, ASYNC103
            error = raised
        connection.leave()
        with trio.CancelScope(shield=True):
            await ended.wait()
    if error is not None:
        raise error


async def _carry(connection: Connection, process: trio.Process, ended: trio.Event) -> None:
    """Carry the conversation, also through a cancellation: runs that are being ended wait for what is said."""
    with trio.CancelScope(shield=True):
        try:
            await connection.carry()
            # Who has closed its output, or whose input and output are closed, ends its runs and itself (J10).
            with trio.move_on_after(PATIENCE):
                await process.wait()
            process.kill()
            await process.wait()
        finally:
            ended.set()
