"""Run an agent as a child process: a `Source` (S3, S7, K4)."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from signal import Signals
from typing import Final

import trio

from codex_adapter.agent import Launch
from codex_adapter.errors import BackendError, SpawnError
from codex_adapter.events import ExitStatus
from codex_adapter.runtime.containment.containment import Contained, Containment, Level
from codex_adapter.runtime.exhaustion import is_shortage
from codex_adapter.runtime.pipe_reader import PipeReader

__all__ = ["ProcessSource", "spawn"]

# Half of the capacity of a pipe. The other runs wait while the lines of one read are processed, and events that the
# consumer has not taken stay in memory. Reading the whole capacity at once costs a fortieth less. More than that, with
# a larger pipe, costs more, because the lines leave the cache before they are decoded.
READ_SIZE: Final = 32_768
_MOST_UNREAD: Final = 64 * 1024 * 1024
"""The limit of bytes for standard input that an agent has not read."""


async def spawn(launch: Launch, *, mark: str, stop_timeout: float, containment: Containment) -> ProcessSource:
    """Start the agent. Raise `SpawnError`, or `BackendError` (`io`) if the directory cannot be entered (S1 to S5)."""
    try:
        stop_signals = tuple(tuple(Signals(number) for number in group) for group in launch.stop_signals)
    except (ValueError, TypeError):
        advice = "The stop signals of the agent are not signals. Correct the agent."
        raise BackendError("other", advice=advice) from None
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as childs:
        try:
            stdin, input_ = _pipe(read=childs, write=ours)
            output, stdout = _pipe(read=ours, write=childs)
            errors, stderr = _pipe(read=ours, write=childs)
            contained = await containment.start(
                launch.argv,
                env=launch.env,
                cwd=launch.cwd,
                pipes=(stdin, stdout, stderr),
                mark=mark,
                file=launch.private_file,
            )
        except OSError as error:
            raise _spawn_error(error, launch.cwd) from None
        ours.pop_all()
    return ProcessSource(
        contained,
        (input_, output, errors),
        stdin=launch.stdin,
        stop_signals=stop_signals,
        stop_timeout=stop_timeout,
        # No other agent was started since, so the current level of `containment` is this agent's.
        level=containment.level,
    )


def _pipe(*, read: contextlib.ExitStack, write: contextlib.ExitStack) -> tuple[int, int]:
    """Create a pipe. Each end is closed with the stack of its side."""
    read_end, write_end = os.pipe()
    read.callback(os.close, read_end)
    write.callback(os.close, write_end)
    return read_end, write_end


def _spawn_error(error: OSError, cwd: str) -> BackendError:
    if error.filename == cwd:
        return BackendError("io", advice="The working directory cannot be entered. Check its permissions.")
    if is_shortage(error):
        reason = os.strerror(error.errno or 0)
        advice = f"The system has too few resources to start a process ({reason}). Raise its limits."
        return SpawnError(not_found=False, advice=advice)
    if error.errno == errno.E2BIG:
        advice = "The environment is too long for the system. Set fewer or shorter variables."
        return SpawnError(not_found=False, advice=advice)
    if isinstance(error, FileNotFoundError):
        # The file existed before. Either it was removed, or its interpreter does not exist.
        advice = "The agent's binary or its interpreter does not exist. Run `codex-adapter doctor` to check it."
        return SpawnError(not_found=True, advice=advice, hint="cli_not_found")
    return SpawnError(not_found=False, hint="cli_not_executable")


class ProcessSource:
    """A started agent, contained at `level`. It writes standard input during reads, and drains stderr (S3, S7)."""

    def __init__(
        self,
        contained: Contained,
        descriptors: Sequence[int],
        *,
        stdin: bytes,
        stop_signals: Sequence[Sequence[Signals]],
        stop_timeout: float,
        level: Level | None,
    ) -> None:
        self.level = level
        self._contained = contained
        input_, output, errors = descriptors
        self._stdin = trio.lowlevel.FdStream(input_)
        self._stdout = PipeReader(output)
        self._stderr = PipeReader(errors)
        self._outgoing = bytearray(stdin)
        self._input_ends = False
        self._input_changed = trio.Event()
        self._receive_stderr: Callable[[bytes], None] = _drop
        self._stop_signals = stop_signals
        self._stop_timeout = stop_timeout
        self._exited = trio.Event()
        self._hurry = trio.Event()
        self._status: ExitStatus | None = None

    def send(self, data: bytes) -> None:
        """Queue bytes for standard input, like `Source.send`."""
        if len(self._outgoing) + len(data) > _MOST_UNREAD:
            raise BackendError("io", advice="The agent does not read the answers that it asks for. Correct the agent.")
        self._outgoing += data
        self._input_changed.set()

    def close_input(self) -> None:
        """Close standard input after the queued bytes, like `Source.close_input`."""
        self._input_ends = True
        self._input_changed.set()

    def report_stderr(self, receive: Callable[[bytes], None]) -> None:
        """Set the receiver of standard error, like `Source.report_stderr`."""
        self._receive_stderr = receive

    async def serve(self) -> None:
        """Write standard input, drain stderr, and reap the agent."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write_input)
            nursery.start_soon(self._drain_stderr)
            nursery.start_soon(self._reap)

    async def receive_some(self) -> bytes:
        """Return the next bytes of standard output, like `Source.receive_some`."""
        try:
            return await self._stdout.receive_some(READ_SIZE)
        except OSError:
            raise BackendError("io") from None

    def close_output(self) -> None:
        """Stop reading, like `Source.close_output`."""
        self._stdout.close()

    async def wait(self) -> ExitStatus:
        """Wait for the exit, like `Source.wait`. Raise `BackendError` (`wait`) if the status is unknown."""
        await self._exited.wait()
        if self._status is None:
            raise BackendError("wait")
        return self._status

    async def stop(self, request: bytes) -> None:
        """Send the request, then the launch's signals, group by group, then SIGKILL to all processes.

        All steps have equal parts of the time. There is no first step without a request, or if standard input is
        closed. (K4)
        """
        ask = request if not self._input_ends else b""
        share = self._stop_timeout / (len(self._stop_signals) + (2 if ask else 1))
        if ask:
            self._outgoing += ask
            self._input_changed.set()
            await self._wait_a_while(share, hurry=True)
        for signals in self._stop_signals:
            for number in signals:
                if not self._exited.is_set():
                    self._contained.signal(number)
            await self._wait_a_while(share, hurry=True)
        self._contained.kill()
        await self._wait_a_while(share, hurry=False)
        # A process that survives SIGKILL sleeps in the kernel. The adapter can do nothing more.
        self._exited.set()

    def kill(self) -> None:
        """Kill all processes, like `Source.kill`."""
        self._hurry.set()
        self._contained.kill()

    async def aclose(self) -> None:
        """Release everything, like `Source.aclose`."""
        with trio.CancelScope(shield=True):
            await self._contained.aclose()
            # The last diagnostics of an exited agent may be unread. A pipe does not hold more than one read.
            with contextlib.suppress(OSError):
                if last := self._stderr.receive_now(READ_SIZE):
                    self._receive_stderr(last)
            self._receive_stderr(b"")
            await trio.aclose_forcefully(self._stdin)
            self._stdout.close()
            self._stderr.close()

    async def _wait_a_while(self, seconds: float, *, hurry: bool) -> None:
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:

                async def first(event: trio.Event) -> None:
                    await event.wait()
                    nursery.cancel_scope.cancel()

                nursery.start_soon(first, self._exited)
                if hurry:
                    nursery.start_soon(first, self._hurry)

    async def _write_input(self) -> None:
        # An agent that does not read its input, or exits before it has read it, is not an error.
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while self._outgoing or not self._input_ends:
                if not self._outgoing:
                    self._input_changed = trio.Event()
                    await self._input_changed.wait()
                data, self._outgoing = self._outgoing, bytearray()  # the data may be long, and so may the run
                await self._stdin.send_all(data)
                del data
        self._input_ends = True
        await self._stdin.aclose()

    async def _drain_stderr(self) -> None:
        # An agent without readable diagnostics can still succeed.
        with contextlib.suppress(OSError):
            while data := await self._stderr.receive_some(READ_SIZE):
                self._receive_stderr(data)
                del data  # free it before the next wait

    async def _reap(self) -> None:
        with contextlib.suppress(BackendError):
            self._status = await self._contained.wait()
        self._exited.set()


def _drop(_data: bytes) -> None:
    """Drop the bytes."""
