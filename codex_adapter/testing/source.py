"""Play a scripted `Source`: what a run reads, in the order and at the times that a test sets (TK5).

With trio's autojump clock the times cost nothing. A step is bytes to give, seconds to wait, a `trio.Event` to wait for,
or `EXIT` for the moment at which the agent exits; without one it exits after the last step.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import trio

from codex_adapter.errors import BackendError
from codex_adapter.events import ExitStatus

__all__ = ["EXIT", "ScriptedSource", "Step"]


class _Exit(enum.Enum):
    EXIT = enum.auto()


EXIT: Final = _Exit.EXIT
Step: TypeAlias = bytes | float | trio.Event | _Exit | BackendError


class ScriptedSource:
    """Plays a script. `calls` notes what the run asked of it, in order.

    `stubborn` is how long, in seconds, the agent takes to exit once it was asked to stop; a `BackendError` among the
    steps is raised in its place. `stderr` is what the agent writes to standard error. After the last step the output
    ends, unless `held` keeps it open.
    """

    def __init__(
        self,
        script: Sequence[Step],
        *,
        status: ExitStatus | None = None,
        stubborn: float = 0.0,
        held: bool = False,
        stderr: bytes = b"",
    ) -> None:
        self._script = list(script)
        self._status = ExitStatus(code=0) if status is None else status
        self._stubborn = stubborn
        self._held = held
        self._exits_by_script = EXIT in self._script
        self._exited = trio.Event()
        self._output_closed = trio.Event()
        self._stderr = stderr
        self._receive_stderr: Callable[[bytes], None] | None = None
        self.sent = b""
        self.calls: list[str] = []

    def send(self, data: bytes) -> None:
        """Note what was sent, in `sent`."""
        self.sent += data

    def close_input(self) -> None:
        """Do nothing: a script reads nothing."""

    def report_stderr(self, receive: Callable[[bytes], None]) -> None:
        """Pass the scripted standard error to `receive` when the source is closed."""
        self._receive_stderr = receive

    async def serve(self) -> None:
        """Nothing runs beside the script."""
        await trio.lowlevel.checkpoint()

    async def receive_some(self) -> bytes:
        """The next bytes of the script."""
        await trio.lowlevel.checkpoint()
        while self._script and not self._output_closed.is_set():
            step = self._script.pop(0)
            if isinstance(step, bytes):
                return step
            if isinstance(step, BackendError):
                raise step
            if isinstance(step, _Exit):
                self._exited.set()
            elif isinstance(step, trio.Event):
                await _first(step, self._output_closed)
            else:
                with trio.move_on_after(step):
                    await self._output_closed.wait()
        if self._held:
            await self._output_closed.wait()
        if not self._exits_by_script:
            self._exited.set()
        return b""

    def close_output(self) -> None:
        """The output is at its end from now on."""
        self.calls.append("close_output")
        self._output_closed.set()

    async def wait(self) -> ExitStatus:
        """The status, once the script has come to the agent's exit."""
        await self._exited.wait()
        return self._status

    async def stop(self) -> None:
        """The agent exits after its stubborn time."""
        self.calls.append("stop")
        with trio.move_on_after(self._stubborn):
            await self._exited.wait()
        self._exited.set()
        self._output_closed.set()

    def kill(self) -> None:
        """The agent exits at once."""
        self.calls.append("kill")
        self._exited.set()
        self._output_closed.set()

    async def aclose(self) -> None:
        """Note the call, and report standard error."""
        self.calls.append("aclose")
        if self._receive_stderr is not None:
            if self._stderr:
                self._receive_stderr(self._stderr)
            self._receive_stderr(b"")
        await trio.lowlevel.checkpoint()


async def _first(*events: trio.Event) -> None:
    async with trio.open_nursery() as nursery:

        async def wait(event: trio.Event) -> None:
            await event.wait()
            nursery.cancel_scope.cancel()

        for event in events:
            nursery.start_soon(wait, event)
