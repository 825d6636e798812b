"""Script an agent behind a pipe that prints and exits at given times, and trace all its steps."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import trio
from typing_extensions import override

from codex_adapter.errors import BackendError
from codex_adapter.events import ExitStatus
from codex_adapter.testing.source import ScriptedSource

__all__ = ["AgentStep", "Deed", "PipedAgent", "Seen", "Trace"]


class Deed(enum.Enum):
    """What an agent does besides printing bytes and letting time pass."""

    CLOSE = "closes its stdout"
    EXIT = "exits; what goes on printing is a descendant"


AgentStep: TypeAlias = bytes | float | Deed | BackendError


class Seen(NamedTuple):
    """Something that happened, and when, in seconds of the virtual clock."""

    at: float
    what: str
    detail: Any = None


class Trace:
    """All that happened around one run, in its order."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def __call__(self, what: str, detail: Any = None) -> None:
        """Note it."""
        self.seen.append(Seen(trio.current_time(), what, detail))

    def __iter__(self) -> Iterator[Seen]:
        return iter(self.seen)

    def first(self, *whats: str) -> int | None:
        """The place of the first of these, None when there is none."""
        return next((place for place, seen in enumerate(self.seen) if seen.what in whats), None)

    def all(self, *whats: str) -> list[Seen]:
        """Each of these."""
        return [seen for seen in self.seen if seen.what in whats]


class PipedAgent(ScriptedSource):
    """Plays steps at their times into a pipe that holds `room` bytes; a full pipe stops the agent, never the clock.

    A `BackendError` among the steps breaks the pipe: reading fails with it. After the last step the output is closed
    and the agent exits, where it had not before. `status` None is a status that nobody can learn.
    """

    def __init__(
        self, steps: Sequence[AgentStep], trace: Trace, *, status: ExitStatus | None, stubborn: float, room: int
    ) -> None:
        super().__init__([], status=status, stubborn=stubborn)
        self._steps = steps
        self._trace = trace
        self._lost = status is None
        self._room = room
        self._pipe = bytearray()
        self._written_at = 0.0
        self._broken: BackendError | None = None
        self._changed = trio.Event()

    @override
    async def serve(self) -> None:
        """The agent's life."""
        for step in (*self._steps, Deed.CLOSE, Deed.EXIT):
            if isinstance(step, bytes):
                while len(self._pipe) >= self._room:
                    await self._changed.wait()
                if not self._output_closed.is_set():
                    if not self._pipe:
                        self._written_at = trio.current_time()
                    self._pipe += step
            elif isinstance(step, BackendError):
                self._broken = step
            elif step is Deed.EXIT:
                self._exit()
            elif step is Deed.CLOSE:
                self._output_closed.set()
            else:
                await trio.sleep(step)
            self._change()

    @override
    async def receive_some(self) -> bytes:
        """All that the pipe holds."""
        self._trace("asked")
        await trio.lowlevel.checkpoint()
        while True:
            if self._pipe:
                data = bytes(self._pipe)
                self._pipe.clear()
                self._change()
                self._trace("gave", data)
                return data
            if self._broken is not None:
                self._trace("broke")
                raise self._broken
            if self._output_closed.is_set():
                self._trace("eof")
                return b""
            await self._changed.wait()

    @override
    async def wait(self) -> ExitStatus:
        """The status, or that it is lost."""
        await self._exited.wait()
        if self._lost:
            self._trace("lost")
            raise BackendError("wait")
        self._trace("reaped")
        return self._status

    @override
    async def stop(self, request: bytes) -> None:
        """As a scripted source; then nothing of it is left."""
        self._trace("stop")
        with trio.move_on_after(self._stubborn):
            await self._exited.wait()
        self._die()

    @override
    def kill(self) -> None:
        """Nothing of it is left."""
        self._trace("kill")
        self._die()

    @override
    def close_output(self) -> None:
        """What is still in the pipe is not read any more."""
        self._trace("close_output", bool(self._pipe) and self._written_at < trio.current_time())
        self._pipe.clear()
        self._output_closed.set()
        self._change()

    @override
    async def aclose(self) -> None:
        """It takes a moment."""
        await trio.sleep(0.25)
        self._trace("aclose")

    def _die(self) -> None:
        self._exit()
        self._output_closed.set()
        self._change()

    def _exit(self) -> None:
        if not self._exited.is_set():
            self._trace("exit")
            self._exited.set()

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
