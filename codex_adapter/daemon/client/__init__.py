"""Start a daemon, and use its runs like those of this process (J15)."""

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
from codex_adapter.errors import DEFAULT_AGENT
from codex_adapter.runtime.event_loop import require_trio

__all__ = ["DaemonBackend", "open_daemon"]

# With -P, Python imports nothing from the working directory.
_PROGRAM: Final = (sys.executable, "-P", "-m", "codex_adapter", "serve")


@asynccontextmanager
async def open_daemon(
    *options: str, agent: str = DEFAULT_AGENT, program: Sequence[str] | None = None
) -> AsyncIterator[DaemonBackend]:
    """Start a daemon with these options of `codex-adapter serve`, and yield a backend for runs of one agent kind.

    By default, `program` is the `serve` of this package. It serves this agent, unless the options name others with
    `--agent`. The daemon inherits the environment, the working directory and the stderr of this process. The exit from
    the block cancels the live runs and ends the daemon in a bounded time. Raise OSError if the program cannot be
    started, and `BackendError` (`other`) if it does not answer like a daemon; its stderr has more details. (J15)
    """
    require_trio()
    # Start a new session, as for agents: this process decides what Ctrl-C ends.
    if program is None:
        named = any(option == "--agent" or option.startswith("--agent=") for option in options)
        program = _PROGRAM if named or agent == DEFAULT_AGENT else (*_PROGRAM, "--agent", agent)
    process = await trio.lowlevel.open_process(
        [*program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    requests, answers = cast("SendStream", process.stdin), cast("ReceiveStream", process.stdout)
    connection = Connection(requests, answers, agent, process.kill)
    ended = trio.Event()
    error: BaseException | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_run, connection, process, ended)
        try:
            yield DaemonBackend(connection, await connection.initialize())
        # Raised again below, outside the nursery that would wrap it.
        except BaseException as raised:  # noqa: BLE001, ASYNC103
            error = raised
        connection.end_requests()
        with trio.CancelScope(shield=True):
            await ended.wait()
    if error is not None:
        raise error


async def _run(connection: Connection, process: trio.Process, ended: trio.Event) -> None:
    """Run the connection and wait for the daemon. The shield is for cancelled runs, which wait for messages."""
    with trio.CancelScope(shield=True):
        try:
            await connection.run()
            # A daemon whose stdin is closed ends its runs and itself (J10).
            with trio.move_on_after(PATIENCE):
                await process.wait()
            process.kill()
            await process.wait()
        finally:
            ended.set()
