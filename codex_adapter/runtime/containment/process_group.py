"""Contain an agent by its process group and by the run's mark: the weakest level (N1)."""

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
from codex_adapter.runtime.containment.marks import group_is_alive, kill_marked
from codex_adapter.runtime.descriptors import restore_limit

__all__ = ["ProcessGroup", "start_group"]


def start_group(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str, pipes: Sequence[int], mark: str
) -> ProcessGroup:
    """Start the agent in its own session, on the three descriptors `pipes`. Raise OSError."""
    stdin, stdout, stderr = pipes
    # Fork in this thread: trio would fork in a worker thread, which ends.
    process = subprocess.Popen(
        argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
    )
    restore_limit(process.pid)
    return ProcessGroup(process, mark)


class ProcessGroup:
    """A started agent and those of its processes that can be found.

    The agent stays unreaped until `aclose`. Until then, the kernel does not reuse the ids of its process and its group.
    """

    def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
        self._process = process
        self._mark = mark
        self._pidfd = open_pidfd(process.pid)

    async def wait(self) -> ExitStatus:
        """Wait for the agent's exit, like `Contained.wait`."""
        try:
            result = await wait_for_exit(self._process.pid, self._pidfd)
        except ChildProcessError:
            # Other code of this process reaped the agent, or SIGCHLD is ignored, so the status is unknown.
            result = None
        if result is None:
            raise BackendError("wait")
        exited = result.si_code == os.CLD_EXITED
        return ExitStatus.from_returncode(result.si_status if exited else -result.si_status)

    def signal(self, number: signal.Signals) -> None:
        """Send the agent a signal, like `Contained.signal`."""
        with contextlib.suppress(OSError):
            # This fails if other code of this process reaped the agent, because another process may have its id now.
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """Kill the run, like `Contained.kill`."""
        self._kill()

    async def aclose(self) -> None:
        """End the run, like `Contained.aclose`."""
        if not await kill_until_none_is_found(self._kill):
            await log_left(self._mark, [self._process.pid])
        # Reap only this id, and do not wait: an agent that survives SIGKILL stays unreaped.
        self._process.poll()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def _kill(self) -> bool:
        self.signal(signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        # A process without the mark is killed with its group, and needs a moment to exit.
        return kill_marked(self._mark) or group_is_alive(self._process.pid)
