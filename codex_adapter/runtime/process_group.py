"""The weakest containment: the agent's process group, and whoever carries the run's mark (N1)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

import trio

from codex_adapter.errors import BackendError
from codex_adapter.events import ExitStatus
from codex_adapter.runtime.killing import kill_until_none_is_found
from codex_adapter.runtime.marks import kill_marked

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
    try:
        return ProcessGroup(process, mark)
    except OSError:
        process.kill()
        process.wait()
        raise


class ProcessGroup:
    """A started agent and what is found of all that it started.

    The agent stays unreaped until `aclose`: so long its process id is not given to another process, nor its group's.
    """

    def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
        self._process = process
        self._mark = mark
        self._pidfd = os.pidfd_open(process.pid)

    async def wait(self) -> ExitStatus:
        """As `Contained.wait`."""
        await trio.lowlevel.wait_readable(self._pidfd)
        try:
            # It does not block: the agent has exited.
            result = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222
        except ChildProcessError:
            # Somebody else in this process reaped it, or SIGCHLD is ignored: there is no honest status to give.
            result = None
        if result is None:
            raise BackendError("wait")
        exited = result.si_code == os.CLD_EXITED
        return ExitStatus.from_returncode(result.si_status if exited else -result.si_status)

    def signal(self, number: signal.Signals) -> None:
        """As `Contained.signal`."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    def kill(self) -> None:
        """As `Contained.kill`."""
        self._kill()

    async def aclose(self) -> None:
        """As `Contained.aclose`."""
        await kill_until_none_is_found(self._kill)
        # Reaped by its own id only, and without waiting: an agent that even SIGKILL has not ended yet stays as it is.
        self._process.poll()
        os.close(self._pidfd)

    def _kill(self) -> bool:
        self.signal(signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return kill_marked(self._mark)
