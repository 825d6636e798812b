"""Runs of a daemon, used as those of this process are: `open_daemon` gives a backend (J15)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, cast

import trio
from trio.abc import ReceiveStream, SendStream

from codex_adapter.client.connection import Connection
from codex_adapter.client.remote_run import DaemonBackend

__all__ = ["DaemonBackend", "open_daemon"]

_PROGRAM: Final = (sys.executable, "-m", "codex_adapter", "serve")
_PATIENCE: Final = 30.0
"""Seconds for a daemon to end its runs, each of which has a bound of its own (K4)."""


@asynccontextmanager
async def open_daemon(*options: str, program: Sequence[str] = _PROGRAM) -> AsyncIterator[DaemonBackend]:
    """Start a daemon with these options of `codex-adapter serve`; its backend opens runs, any number at once (J15).

    Leaving the block ends what is left of its runs, and the daemon. Raises OSError when it cannot be started, and
    `BackendError` (`other`) when it does not answer as a daemon does; its stderr, ours, then says more.
    """
    process = await trio.lowlevel.open_process([*program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    requests, answers = cast("tuple[SendStream, ReceiveStream]", (process.stdin, process.stdout))
    error: BaseException | None = None
    connection = Connection(requests, answers)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.carry)
        try:
            yield DaemonBackend(connection, await connection.initialize())
        # Raised again below, outside the nursery that would wrap it.
        except BaseException as raised:  # noqa: BLE001, ASYNC103
            error = raised
        with trio.CancelScope(shield=True):
            # At the end of its stdin a daemon ends its runs and itself (J10).
            await requests.aclose()
            await _ended(process)
            await answers.aclose()
        nursery.cancel_scope.cancel()
    if error is not None:
        raise error


async def _ended(process: trio.Process) -> None:
    with trio.move_on_after(_PATIENCE):
        await process.wait()
    process.kill()
    await process.wait()
