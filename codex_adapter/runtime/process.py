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

# Half of what a pipe holds: the other runs wait for as long as a read's lines take, and its events are held where
# nobody takes them. All that a pipe holds at once costs a fortieth less; more than that, in a larger pipe, costs more
# again, for its lines have left the cache when they are decoded.
READ_SIZE: Final = 32_768
_MOST_UNREAD: Final = 64 * 1024 * 1024
"""Bytes for standard input that an agent may leave unread."""


async def spawn(launch: Launch, *, mark: str, stop_timeout: float, containment: Containment) -> ProcessSource:
    """Start the agent (S1 to S5). Raises `SpawnError`, and `BackendError` (`io`) for a directory that is gone."""
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
        # What `containment` says now is of this agent: nothing else has been done since it was started.
        level=containment.level,
    )


def _pipe(*, read: contextlib.ExitStack, write: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe, each end closed with the stack of the side that it belongs to."""
    read_end, write_end = os.pipe()
    read.callback(os.close, read_end)
    write.callback(os.close, write_end)
    return read_end, write_end


def _spawn_error(error: OSError, cwd: str) -> BackendError:
    if error.filename == cwd:
        return BackendError("io", advice="The working directory cannot be entered.")
    if is_shortage(error):
        reason = os.strerror(error.errno or 0)
        advice = f"The system has too little left to start a process ({reason}); raise its limits."
        return SpawnError(not_found=False, advice=advice)
    if error.errno == errno.E2BIG:
        advice = "The environment is longer than the system passes on; set fewer or shorter variables."
        return SpawnError(not_found=False, advice=advice)
    if isinstance(error, FileNotFoundError):
        # Its file was found before: it is gone, or names an interpreter that does not exist.
        advice = "The binary of the agent or its interpreter does not exist; `codex-adapter doctor` checks it."
        return SpawnError(not_found=True, advice=advice, hint="cli_not_found")
    return SpawnError(not_found=False, hint="cli_not_executable")


class ProcessSource:
    """A spawned agent, contained at `level`. It writes standard input while it is read, and drains stderr (S3, S7)."""

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
        """As `Source.send`."""
        if len(self._outgoing) + len(data) > _MOST_UNREAD:
            raise BackendError("io", advice="The agent asks for answers and does not read them.")
        self._outgoing += data
        self._input_changed.set()

    def close_input(self) -> None:
        """As `Source.close_input`."""
        self._input_ends = True
        self._input_changed.set()

    def report_stderr(self, receive: Callable[[bytes], None]) -> None:
        """As `Source.report_stderr`."""
        self._receive_stderr = receive

    async def serve(self) -> None:
        """Write standard input, drain stderr, and reap the agent."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write_input)
            nursery.start_soon(self._drain_stderr)
            nursery.start_soon(self._reap)

    async def receive_some(self) -> bytes:
        """As `Source.receive_some`."""
        try:
            return await self._stdout.receive_some(READ_SIZE)
        except OSError:
            raise BackendError("io") from None

    def close_output(self) -> None:
        """As `Source.close_output`."""
        self._stdout.close()

    async def wait(self) -> ExitStatus:
        """As `Source.wait`. Raises `BackendError` (`wait`) when the status cannot be learned."""
        await self._exited.wait()
        if self._status is None:
            raise BackendError("wait")
        return self._status

    async def stop(self) -> None:
        """Send the launch's signals, group by group, then SIGKILL to everything; each gets an equal time (K4)."""
        for signals in self._stop_signals:
            for number in signals:
                if not self._exited.is_set():
                    self._contained.signal(number)
            await self._wait_a_while(hurry=True)
        self._contained.kill()
        await self._wait_a_while(hurry=False)
        # A process that SIGKILL does not end within the bound sleeps in the kernel: nothing more can be done here.
        self._exited.set()

    def kill(self) -> None:
        """As `Source.kill`."""
        self._hurry.set()
        self._contained.kill()

    async def aclose(self) -> None:
        """As `Source.aclose`."""
        with trio.CancelScope(shield=True):
            await self._contained.aclose()
            # The last words of an agent that has exited may not have been waited for; a pipe holds no more of them.
            with contextlib.suppress(OSError):
                if last := self._stderr.receive_now(READ_SIZE):
                    self._receive_stderr(last)
            self._receive_stderr(b"")
            await trio.aclose_forcefully(self._stdin)
            self._stdout.close()
            self._stderr.close()

    async def _wait_a_while(self, *, hurry: bool) -> None:
        with trio.move_on_after(self._stop_timeout / (len(self._stop_signals) + 1)):
            async with trio.open_nursery() as nursery:

                async def first(event: trio.Event) -> None:
                    await event.wait()
                    nursery.cancel_scope.cancel()

                nursery.start_soon(first, self._exited)
                if hurry:
                    nursery.start_soon(first, self._hurry)

    async def _write_input(self) -> None:
        # An agent that never reads its input, or exits before it has, is no error by itself.
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while self._outgoing or not self._input_ends:
                if not self._outgoing:
                    self._input_changed = trio.Event()
                    await self._input_changed.wait()
                data, self._outgoing = self._outgoing, bytearray()  # it may be long, and the run too
                await self._stdin.send_all(data)
                del data
        await self._stdin.aclose()

    async def _drain_stderr(self) -> None:
        # An agent whose diagnostics cannot be read is no worse for it.
        with contextlib.suppress(OSError):
            while data := await self._stderr.receive_some(READ_SIZE):
                self._receive_stderr(data)
                del data  # it need not be kept while the next is waited for

    async def _reap(self) -> None:
        with contextlib.suppress(BackendError):
            self._status = await self._contained.wait()
        self._exited.set()


def _drop(_data: bytes) -> None:
    """Receive what no decoder wants."""
