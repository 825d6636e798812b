"""The Codex CLI as a child process: a `Source` (S3, S7, K4)."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Sequence
from typing import Final

import trio

from codex_adapter.agents.codex.launch import Launch
from codex_adapter.agents.codex.stream.diagnosis import StderrTail
from codex_adapter.errors import BackendError, SpawnError
from codex_adapter.events import ExitStatus
from codex_adapter.hints import Hint
from codex_adapter.runtime.containment.containment import Contained, Containment, Level
from codex_adapter.runtime.exhaustion import is_shortage
from codex_adapter.runtime.pipe_reader import PipeReader

__all__ = ["ProcessSource", "spawn"]

# Half of what a pipe holds: the other runs wait for as long as a read's lines take, and its events are held where
# nobody takes them. All that a pipe holds at once costs a fortieth less; more than that, in a larger pipe, costs more
# again, for its lines have left the cache when they are decoded.
READ_SIZE: Final = 32_768


async def spawn(
    launch: Launch, *, mark: str, schema: str | None, stop_timeout: float, containment: Containment
) -> ProcessSource:
    """Start the agent (S1 to S5). `schema` is the path that `schema_file` gave for the same mark.

    Raises `SpawnError`, and `BackendError` (`io`) for a directory that is gone."""
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as childs:
        try:
            stdin, prompt = _pipe(read=childs, write=ours)
            output, stdout = _pipe(read=ours, write=childs)
            errors, stderr = _pipe(read=ours, write=childs)
            contained = await containment.start(
                launch.argv(schema),
                env=launch.env,
                cwd=launch.cwd,
                pipes=(stdin, stdout, stderr),
                mark=mark,
                file=schema,
            )
        except OSError as error:
            raise _spawn_error(error, launch.cwd) from None
        ours.pop_all()
    # What `containment` says now is of this agent: nothing else has been done since it was started.
    return ProcessSource(
        contained,
        (prompt, output, errors),
        prompt=launch.prompt,
        stop_timeout=stop_timeout,
        level=containment.level,
        sandboxed=launch.options.sandbox_mode != "danger-full-access" and launch.options.tools != "none",
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
        advice = "The codex binary or its interpreter does not exist; `codex-adapter doctor` looks at it."
        return SpawnError(not_found=True, advice=advice, hint="cli_not_found")
    return SpawnError(not_found=False, hint="cli_not_executable")


class ProcessSource:
    """A spawned agent, held at `level`. It writes the prompt while it is read, and drains stderr unkept (S3, S7).

    `sandboxed` says whether the CLI is to run commands in its own sandbox (F12).
    """

    def __init__(
        self,
        contained: Contained,
        descriptors: Sequence[int],
        *,
        prompt: bytes,
        stop_timeout: float,
        level: Level | None,
        sandboxed: bool,
    ) -> None:
        self.level = level
        self._sandboxed = sandboxed
        self._contained = contained
        stdin, stdout, stderr = descriptors
        self._stdin = trio.lowlevel.FdStream(stdin)
        self._stdout = PipeReader(stdout)
        self._stderr = PipeReader(stderr)
        self._prompt = prompt
        self._stop_timeout = stop_timeout
        self._exited = trio.Event()
        self._hurry = trio.Event()
        self._status: ExitStatus | None = None
        self._stderr_tail = StderrTail()
        self._stderr_hint: Hint | None = None

    @property
    def session_missing(self) -> bool:
        """As `Source.session_missing`."""
        return self._stderr_tail.session_missing

    @property
    def stderr_hint(self) -> Hint | None:
        """As `Source.stderr_hint`."""
        return self._stderr_hint

    async def serve(self) -> None:
        """Write the prompt, drain stderr, and reap the agent."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write_prompt)
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
        """SIGINT, so that the agent stops its own tools; SIGTERM and SIGCONT; SIGKILL to everything (K4).

        Each has a third of the time.
        """
        for signals in ((signal.SIGINT,), (signal.SIGTERM, signal.SIGCONT)):
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
                self._stderr_tail.note(self._stderr.receive_now(READ_SIZE))
            hint = self._stderr_tail.take_hint()
            self._stderr_hint = hint if self._sandboxed or hint != "sandbox_unavailable" else None
            await trio.aclose_forcefully(self._stdin)
            self._stdout.close()
            self._stderr.close()

    async def _wait_a_while(self, *, hurry: bool) -> None:
        with trio.move_on_after(self._stop_timeout / 3):
            async with trio.open_nursery() as nursery:

                async def first(event: trio.Event) -> None:
                    await event.wait()
                    nursery.cancel_scope.cancel()

                nursery.start_soon(first, self._exited)
                if hurry:
                    nursery.start_soon(first, self._hurry)

    async def _write_prompt(self) -> None:
        # An agent that never reads its prompt, or exits before it has, is no error by itself.
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            prompt, self._prompt = self._prompt, b""  # it may be long, and the run too
            await self._stdin.send_all(prompt)
            del prompt
        await self._stdin.aclose()

    async def _drain_stderr(self) -> None:
        # An agent whose diagnostics cannot be read is no worse for it.
        with contextlib.suppress(OSError):
            while data := await self._stderr.receive_some(READ_SIZE):
                self._stderr_tail.note(data)
                del data  # it need not be kept while the next is waited for

    async def _reap(self) -> None:
        with contextlib.suppress(BackendError):
            self._status = await self._contained.wait()
        self._exited.set()
