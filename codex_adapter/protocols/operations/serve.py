"""Serve whoever sends operations: a message or a decision a line in, an events message a line out (O11, O13, O14)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeAlias

import trio

from codex_adapter import LineFramer, OversizeLine
from codex_adapter.protocols.operations.executor import Answer, Runtime, Waiting
from codex_adapter.protocols.operations.protocol import Approval
from codex_adapter.protocols.operations.state_file import StateError

__all__ = ["MAX_LINE_BYTES", "Decide", "Server", "Wires"]

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""A file of 10 MiB can need six times that, each of its characters an escape."""
Decide: TypeAlias = Callable[[Waiting], Awaitable[Approval | None]]
"""Asks a person about an operation that waits; None where there was no answer."""


class Wires(Protocol):
    """Bytes of whoever sends, and lines to them."""

    async def receive_some(self) -> bytes:
        """The next bytes; empty at their end."""

    async def write(self, data: bytes) -> bool:
        """Write a line at the reader's pace; False when nobody reads any more."""

    async def wait_reader_gone(self) -> None:
        """Return when nobody reads any more, as far as that can be told without writing."""


class Server:
    """One conversation with a runtime. With `decide`, a person is asked about each operation that waits, at once."""

    def __init__(self, runtime: Runtime, wires: Wires, decide: Decide | None = None) -> None:
        self._runtime = runtime
        self._wires = wires
        self._decide = decide
        self._stopped = False
        self._scope = trio.CancelScope()

    def cancel(self) -> None:
        """Take up nothing more, and rest before the next operation (O13)."""
        self._stopped = True
        self._scope.cancel()
        self._runtime.stop()

    kill = cancel

    async def serve(self) -> None:
        """Go on with what was left, then answer line by line, to the end. Raises `StateError`."""
        failure: StateError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            try:
                for answer in await self._runtime.unfinished():
                    await self._deliver(answer)
                await self._read()
            except StateError as error:
                failure = error
            nursery.cancel_scope.cancel()
        # Outside of the nursery, which would wrap it.
        if failure is not None:
            raise failure

    async def _read(self) -> None:
        framer = LineFramer(MAX_LINE_BYTES)
        while data := await self._receive_some():
            for line in framer.receive_data(data):
                await self._take(line)
        for line in framer.receive_eof():
            await self._take(line)

    async def _receive_some(self) -> bytes:
        data = b""
        with self._unless_stopped():
            data = await self._wires.receive_some()
        return data

    async def _take(self, line: bytes | bytearray | OversizeLine) -> None:
        if self._stopped:
            return
        if isinstance(line, OversizeLine):
            answer = await self._runtime.refuse(f"a message must have at most {MAX_LINE_BYTES} bytes")
        elif line.isspace():
            return
        else:
            answer = await self._runtime.take(line)
        await self._deliver(answer)

    async def _deliver(self, answer: Answer) -> None:
        """Write an answer; then, while something waits and there is somebody to ask, the one to their decision."""
        while await self._wires.write(answer.line):
            await self._runtime.delivered(answer)
            approval = await self._ask()
            if approval is None:
                return
            answer = await self._runtime.decide(approval)
        self.cancel()

    async def _ask(self) -> Approval | None:
        waiting = None if self._decide is None else self._runtime.waiting()
        approval: Approval | None = None
        if self._decide is not None and waiting is not None:
            with self._unless_stopped():
                approval = await self._decide(waiting)
        return approval

    @contextmanager
    def _unless_stopped(self) -> Iterator[None]:
        """Wait for others for as long as we are not to stop."""
        with trio.CancelScope() as self._scope:
            if self._stopped:
                self._scope.cancel()
            yield

    async def _watch(self) -> None:
        await self._wires.wait_reader_gone()
        self.cancel()
