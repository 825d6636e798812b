"""Serve one client: a message or a decision a line in, an events message a line out (O11, O13, O14)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeAlias

import trio

from codex_adapter import LineFramer, OversizeLine
from codex_adapter.protocols.operations.executor import ExecutorReply, OperationExecutor, PendingApproval
from codex_adapter.protocols.operations.messages import Approval
from codex_adapter.protocols.operations.state_file import StateError

__all__ = ["MAX_LINE_BYTES", "Decide", "Server", "Transport"]

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""The size limit of a line: a file of 10 MiB takes six times that if each character is an escape."""
Decide: TypeAlias = Callable[[PendingApproval], Awaitable[Approval | None]]
"""Asks a person about a pending operation; None if there is no answer."""


class Transport(Protocol):
    """The bytes from the client, and the lines to it."""

    async def receive_some(self) -> bytes:
        """Return the next bytes; empty at their end."""

    async def write(self, data: bytes) -> bool:
        """Write a line at the reader's pace; return False once the reader is gone."""

    async def wait_reader_closed(self) -> None:
        """Return once the reader is gone, as far as that shows without writing."""


class Server:
    """Serve one conversation with an executor. With `decide`, ask a person about each pending operation at once."""

    def __init__(self, executor: OperationExecutor, transport: Transport, decide: Decide | None = None) -> None:
        self._executor = executor
        self._transport = transport
        self._decide = decide
        self._stopped = False
        self._scope = trio.CancelScope()

    def cancel(self) -> None:
        """Accept nothing more, and pause before the next operation (O13)."""
        self._stopped = True
        self._scope.cancel()
        self._executor.stop()

    kill = cancel

    async def serve(self) -> None:
        """Continue what was left, then reply line by line to the end. Raises `StateError`."""
        failure: StateError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            try:
                for answer in await self._executor.resume_unfinished():
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
            data = await self._transport.receive_some()
        return data

    async def _take(self, line: bytes | bytearray | OversizeLine) -> None:
        if self._stopped:
            return
        if isinstance(line, OversizeLine):
            answer = await self._executor.refuse(f"a message must have at most {MAX_LINE_BYTES} bytes")
        elif line.isspace():
            return
        else:
            answer = await self._executor.handle(line)
        await self._deliver(answer)

    async def _deliver(self, answer: ExecutorReply) -> None:
        """Write a reply; then ask about the pending operation, if a person can be asked, and write the next reply."""
        while await self._transport.write(answer.line):
            await self._executor.confirm_delivery(answer)
            approval = await self._ask()
            if approval is None:
                return
            answer = await self._executor.decide(approval)
        self.cancel()

    async def _ask(self) -> Approval | None:
        pending = None if self._decide is None else self._executor.pending()
        approval: Approval | None = None
        if self._decide is not None and pending is not None:
            with self._unless_stopped():
                approval = await self._decide(pending)
        return approval

    @contextmanager
    def _unless_stopped(self) -> Iterator[None]:
        """Wait for others until the server is asked to stop."""
        with trio.CancelScope() as self._scope:
            if self._stopped:
                self._scope.cancel()
            yield

    async def _watch(self) -> None:
        await self._transport.wait_reader_closed()
        self.cancel()
