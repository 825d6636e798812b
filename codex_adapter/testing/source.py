"""Play a scripted `Source`, which delivers output to a run in the order and at the times that a test sets (TK5).

With trio's autojump clock, the waits take no time. A step is bytes to deliver, seconds to wait, a `trio.Event` to wait
for, or `EXIT`, at which the agent exits. Without `EXIT`, the agent exits after the last step.
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
    """A source that plays a script. `calls` has the calls of the run, in order.

    `stubborn` is the time in seconds from the request to stop to the agent's exit. A `BackendError` among the steps is
    raised at its position. `stderr` is the agent's standard error. After the last step the output ends, unless `held`
    keeps it open.
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
        """Append the data to `sent`."""
        self.sent += data

    def close_input(self) -> None:
        """Do nothing: a script reads no input."""

    def report_stderr(self, receive: Callable[[bytes], None]) -> None:
        """Pass the scripted standard error to `receive` when the source is closed."""
        self._receive_stderr = receive

    async def serve(self) -> None:
        """Do nothing: a script needs no task."""
        await trio.lowlevel.checkpoint()

    async def receive_some(self) -> bytes:
        """Return the next bytes of the script."""
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
        """End the output."""
        self.calls.append("close_output")
        self._output_closed.set()

    async def wait(self) -> ExitStatus:
        """Wait until the agent exits in the script, and return its status."""
        await self._exited.wait()
        return self._status

    async def stop(self, request: bytes) -> None:
        """Record the request, and let the agent exit after `stubborn` seconds."""
        self.calls.append("stop")
        self.sent += request
        with trio.move_on_after(self._stubborn):
            await self._exited.wait()
        self._exited.set()
        self._output_closed.set()

    def kill(self) -> None:
        """Let the agent exit immediately."""
        self.calls.append("kill")
        self._exited.set()
        self._output_closed.set()

    async def aclose(self) -> None:
        """Record the call, and report standard error."""
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
