"""The weakest containment: the agent's process group, and whoever carries the run's mark (N1)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from codex_adapter.errors import BackendError
from codex_adapter.events import ExitStatus
from codex_adapter.runtime.containment.exits import open_pidfd, wait_for_exit
from codex_adapter.runtime.containment.kill_all import kill_until_none_is_found, log_left
from codex_adapter.runtime.containment.marks import kill_marked
from codex_adapter.runtime.descriptors import give_back_limit

__all__ = ["ProcessGroup", "start_group"]


def start_group(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str, pipes: Sequence[int], mark: str
) -> ProcessGroup:
    """Start the agent in a session of its own, on the three descriptors `pipes`. Raises OSError."""
    stdin, stdout, stderr = pipes
    # From this thread, at once: trio's own would be forked from a worker thread that goes away.
    process = subprocess.Popen(
        argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
    )
    give_back_limit(process.pid)
    return ProcessGroup(process, mark)


class ProcessGroup:
    """A started agent and what is found of all that it started.

    The agent stays unreaped until `aclose`: so long its process id is not given to another process, nor its group's.
    """

    def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
        self._process = process
        self._mark = mark
        self._pidfd = open_pidfd(process.pid)

    async def wait(self) -> ExitStatus:
        """As `Contained.wait`."""
        try:
            result = await wait_for_exit(self._process.pid, self._pidfd)
        except ChildProcessError:
            # Other code of this process reaped it, or SIGCHLD is ignored: the status is unknown.
            result = None
        if result is None:
            raise BackendError("wait")
        exited = result.si_code == os.CLD_EXITED
        return ExitStatus.from_returncode(result.si_status if exited else -result.si_status)

    def signal(self, number: signal.Signals) -> None:
        """As `Contained.signal`."""
        with contextlib.suppress(OSError):
            # Fails when other code of this process reaped the agent, whose id another process may have by now.
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """As `Contained.kill`."""
        self._kill()

    async def aclose(self) -> None:
        """As `Contained.aclose`."""
        if not await kill_until_none_is_found(self._kill):
            await log_left(self._mark, [self._process.pid])
        # Reaped by its own id only, and without waiting: an agent that even SIGKILL has not ended yet stays as it is.
        self._process.poll()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def _kill(self) -> bool:
        self.signal(signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return kill_marked(self._mark)
