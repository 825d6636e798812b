"""Serve the supervisor: read its requests, execute them, and write the answers (J1, J6, J7)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Final

import trio

from codex_adapter import Gateway, LineFramer, OversizeLine
from codex_adapter.daemon.jsonrpc import INTERNAL_ERROR, Answer, Call, Fault, Message, Pending, read_message, too_long
from codex_adapter.daemon.messages import StartResult
from codex_adapter.daemon.server import Daemon, Settings
from codex_adapter.daemon.transport import SendQueue, Transport

__all__ = ["MAX_MESSAGE_BYTES", "serve"]

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
_log = logging.getLogger("codex_adapter")


async def serve(
    gateway: Gateway,
    settings: Settings,
    transport: Transport,
    *,
    governing: Callable[[Daemon], AbstractContextManager[None]],
) -> None:
    """Serve one supervisor until it or a signal ends the daemon, and leave no run behind (J1 to J11).

    The daemon runs inside the context manager of `governing`, so that signals can end it.
    """
    async with trio.open_nursery() as watching:
        with ExitStack() as governed:
            async with trio.open_nursery() as nursery:
                daemon = Daemon(gateway, settings, transport, nursery)
                governed.enter_context(governing(daemon))
                watching.start_soon(_close_when_reader_closed, transport, daemon.send_queue)
                if settings.journal is not None:
                    watching.start_soon(settings.journal.remove_old)
                settings.notify("READY=1")
                with daemon.reading:
                    await _Conversation(daemon, nursery, settings.limits.max_message_bytes).read(transport)
                    daemon.supervisor_left()
        watching.cancel_scope.cancel()


async def _close_when_reader_closed(transport: Transport, send_queue: SendQueue) -> None:
    await transport.wait_reader_closed()
    send_queue.close()


class _Conversation:
    """The reader of requests, which answers each request."""

    def __init__(self, daemon: Daemon, nursery: trio.Nursery, limit: int) -> None:
        self._daemon = daemon
        self._nursery = nursery
        self._limit = limit

    async def read(self, transport: Transport) -> None:
        """Execute one line after another until the input ends. Lines of white space are skipped."""
        framer = LineFramer(self._limit)
        answered = False  # whether the line that is skipped as too long is answered
        while data := await transport.receive_some():
            for line in framer.receive_data(data):
                await self._execute_line(line, answered=answered)
                answered = False
            if framer.skipping and not answered:
                answered = True
                await self._execute(too_long(self._limit))
        for line in framer.receive_eof():
            await self._execute_line(line, answered=answered)

    async def _execute_line(self, line: bytes | bytearray | OversizeLine, *, answered: bool) -> None:
        if not isinstance(line, OversizeLine):
            if not line.isspace():
                await self._execute(read_message(line))
        elif not answered:
            await self._execute(too_long(self._limit))

    async def _execute(self, message: Message) -> None:
        answers = _Answers(self._daemon.send_queue, len(message.calls), batch=message.batch)
        # The shield lets all calls of a batch be executed, even if one of them ends the reading.
        with trio.CancelScope(shield=True):
            for call in message.calls:
                # Many short calls in one read must not delay the runs.
                await trio.lowlevel.checkpoint()
                await self._answer(call, answers, partial(self._daemon.execute, call))

    async def _answer(self, call: Call, answers: _Answers, execute: Callable[[], Awaitable[object]]) -> None:
        """Execute a call, or the pending part of a call, and add its answer."""
        try:
            result = await execute()
        except Fault as fault:
            result = fault
        except Exception as error:  # noqa: BLE001 - a defect of the adapter must not end the daemon
            # Log only the type: the message of a foreign error can quote input (X3).
            _log.error("internal error: %s", type(error).__name__)
            result = Fault(INTERNAL_ERROR, f"internal error: {type(error).__name__}. Report this defect.")
        if isinstance(result, Pending):
            self._nursery.start_soon(self._answer, call, answers, result.finish)
            return
        await answers.add(None if call.id is None else call.answer(result))
        if isinstance(result, StartResult):
            self._daemon.announce(result.run_id)


class _Answers:
    """The answers to one line, which are sent together when all exist (J6)."""

    def __init__(self, send_queue: SendQueue, count: int, *, batch: bool) -> None:
        self._send_queue = send_queue
        self._missing = count
        self._batch = batch
        self._answers: list[Answer] = []

    async def add(self, answer: Answer | None) -> None:
        """Add an answer, or None for a notification."""
        self._missing -= 1
        if answer is not None:
            self._answers.append(answer)
        if not self._missing and self._answers:
            await self._send_queue.send([self._answers] if self._batch else self._answers)
