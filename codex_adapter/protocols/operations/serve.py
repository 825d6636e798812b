"""Serve one client: read messages and decisions, write events messages, each on a line (O11, O13, O14)."""

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
"""The size limit of a line. A file of 10 MiB needs six times its size if each character is an escape."""
Decide: TypeAlias = Callable[[PendingApproval], Awaitable[Approval | None]]
"""Ask a person about a pending operation, and return the decision; None without an answer."""


class Transport(Protocol):
    """The bytes from the client, and the lines to it."""

    async def receive_some(self) -> bytes:
        """Return the next bytes; empty at their end."""

    async def write(self, data: bytes) -> bool:
        """Write a line at the reader's pace. Return False if the reader has closed."""

    async def wait_reader_closed(self) -> None:
        """Return when the reader has closed, if the system reports that without a write."""


class Server:
    """A conversation of a client with an executor. With `decide`, a person is asked about each pending operation."""

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
        """Continue unfinished batches, then reply to each line until the end. Raises `StateError`."""
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
        # Raised outside of the nursery, which would wrap it in a group.
        if failure is not None:
            raise failure

    async def _read(self) -> None:
        framer = LineFramer(MAX_LINE_BYTES)
        while data := await self._receive_some():
            for line in framer.receive_data(data):
                await self._handle(line)
        for line in framer.receive_eof():
            await self._handle(line)

    async def _receive_some(self) -> bytes:
        data = b""
        with self._unless_stopped():
            data = await self._transport.receive_some()
        return data

    async def _handle(self, line: bytes | bytearray | OversizeLine) -> None:
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
        """Write a reply. While an operation waits and a person decides, write the next reply too."""
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
        """Cancel the block when the server is stopped."""
        with trio.CancelScope() as self._scope:
            if self._stopped:
                self._scope.cancel()
            yield

    async def _watch(self) -> None:
        await self._transport.wait_reader_closed()
        self.cancel()
