"""Nothing survives a run: starting an agent so that it, and all that it starts, can be ended.

The one interface is `contain`; a stronger arrangement than this one takes its place and nothing else changes. What this
level reaches: the agent's process group, and every process that still carries the run's mark in its environment.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import trio

from codex_adapter.core.redaction import backend_error_text
from codex_adapter.errors import BackendError
from codex_adapter.events import ExitStatus

__all__ = ["LEVEL", "Contained", "contain"]

LEVEL: Final = "process_group"
MARK_VARIABLE: Final = "CODEX_ADAPTER_RUN"
_ROUNDS: Final = 200
_ROUND_SECONDS: Final = 0.005


def contain(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str, stdin: int, stdout: int, stderr: int
) -> Contained:
    """Start the agent on the given descriptors, in a session of its own and with the run's mark. Raises OSError."""
    mark = uuid.uuid4().hex
    # An adapter inside a run keeps the outer run's mark, so that the outer run still knows its processes.
    marks = ":".join(filter(None, (env.get(MARK_VARIABLE), mark)))
    # From this thread, at once: trio's own would be forked from a worker thread that goes away.
    process = subprocess.Popen(
        argv,
        env={**env, MARK_VARIABLE: marks},
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )
    try:
        return Contained(process, mark)
    except OSError:
        process.kill()
        process.wait()
        raise


class Contained:
    """A started agent and all that came of it.

    The agent stays unreaped until `aclose`: so long its process id is not given to another process, nor its group's.
    """

    def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
        self._process = process
        self._mark = mark.encode()
        self._pidfd = os.pidfd_open(process.pid)

    async def wait(self) -> ExitStatus:
        """Wait for the agent's exit, for one waiter. Raises `BackendError` (`wait`) when its status was lost."""
        await trio.lowlevel.wait_readable(self._pidfd)
        try:
            # It does not block: the agent has exited.
            result = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222
        except ChildProcessError:
            # Somebody else in this process reaped it, or SIGCHLD is ignored: there is no honest status to give.
            result = None
        if result is None:
            raise BackendError("wait", backend_error_text("wait"))
        exited = result.si_code == os.CLD_EXITED
        return ExitStatus.from_returncode(result.si_status if exited else -result.si_status)

    def signal(self, number: signal.Signals) -> None:
        """Send the agent a signal; nothing when it has exited."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    def kill(self) -> bool:
        """SIGKILL to everything of the run that is found now; whether there was anything but the agent's group."""
        self.signal(signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        found = False
        for pid in self._marked():
            found = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return found

    async def aclose(self) -> None:
        """Kill until nothing is found any more, at most for a second, and let go of the agent."""
        for _ in range(_ROUNDS):
            if not self.kill():
                break
            await trio.sleep(_ROUND_SECONDS)
        # Reaped by its own id only, and without waiting: an agent that even SIGKILL has not ended yet stays as it is.
        self._process.poll()
        os.close(self._pidfd)

    def _marked(self) -> Iterator[int]:
        """Living processes with the run's mark; a process about to be gone has no environment any more."""
        try:
            names = os.listdir("/proc")  # noqa: PTH208 - names are all that is needed, and there are many
        except OSError:
            return
        for name in names:
            if name.isdigit():
                try:
                    environment = Path("/proc", name, "environ").read_bytes()
                except OSError:
                    continue
                if self._mark in environment:
                    yield int(name)
