"""The conversation: one reader of requests, each carried out, one writer of answers and events (J1, J6, J7)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Final

import trio

from codex_adapter import Gateway, LineFramer, OversizeLine
from codex_adapter.daemon.jsonrpc import INTERNAL_ERROR, Answer, Call, Fault, Message, read_message, too_long
from codex_adapter.daemon.messages import StartResult
from codex_adapter.daemon.send_queue import Outbox
from codex_adapter.daemon.server import Daemon, Settings
from codex_adapter.daemon.transport import Wires

__all__ = ["MAX_MESSAGE_BYTES", "Settings", "serve"]

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
_log = logging.getLogger("codex_adapter")


async def serve(
    gateway: Gateway,
    settings: Settings,
    wires: Wires,
    *,
    governing: Callable[[Daemon], AbstractContextManager[None]],
) -> None:
    """Serve one supervisor to its end, and leave no run behind (J1 to J11).

    The daemon is given to `governing` for as long as it lives, so that signals can end it.
    """
    async with trio.open_nursery() as watching:
        with ExitStack() as governed:
            async with trio.open_nursery() as nursery:
                daemon = Daemon(gateway, settings, wires, nursery)
                governed.enter_context(governing(daemon))
                watching.start_soon(_watch, wires, daemon)
                if settings.journal is not None:
                    watching.start_soon(settings.journal.remove_old)
                settings.notify("READY=1")
                with daemon.leaving:
                    await _Conversation(daemon, nursery, settings.limits.max_message_bytes).read(wires)
                    daemon.supervisor_gone()
        watching.cancel_scope.cancel()


async def _watch(wires: Wires, daemon: Daemon) -> None:
    await wires.wait_reader_gone()
    daemon.outbox.close()


class _Conversation:
    """Reads requests, and sees that each is answered."""

    def __init__(self, daemon: Daemon, nursery: trio.Nursery, limit: int) -> None:
        self._daemon = daemon
        self._nursery = nursery
        self._limit = limit

    async def read(self, wires: Wires) -> None:
        """Take up one request after another until there are no more."""
        framer = LineFramer(self._limit)
        told = False  # that the line which is being skipped is too long
        while data := await wires.receive_some():
            for line in framer.receive_data(data):
                await self._take_line(line, told=told)
                told = False
            if framer.skipping and not told:
                told = True
                await self._take_up(too_long(self._limit))
        for line in framer.receive_eof():
            await self._take_line(line, told=told)

    async def _take_line(self, line: bytes | bytearray | OversizeLine, *, told: bool) -> None:
        if not isinstance(line, OversizeLine):
            if not line.isspace():
                await self._take_up(read_message(line))
        elif not told:
            await self._take_up(too_long(self._limit))

    async def _take_up(self, message: Message) -> None:
        answers = _Answers(self._daemon.outbox, len(message.calls), batch=message.batch)
        # All of a batch, also when the end of reading is among it.
        with trio.CancelScope(shield=True):
            for call in message.calls:
                # In their order; but those that take long do not hold up what comes after them.
                taken_up = trio.Event()
                self._nursery.start_soon(self._carry_out, call, answers, taken_up)
                await taken_up.wait()

    async def _carry_out(self, call: Call, answers: _Answers, taken_up: trio.Event) -> None:
        try:
            result = await self._daemon.carry_out(call, taken_up.set)
        except Fault as fault:
            result = fault
        except Exception as error:  # noqa: BLE001 - a defect of ours must not end the daemon
            # Only the type: the message of a foreign error can quote what it choked on (X3).
            _log.error("internal error: %s", type(error).__name__)
            result = Fault(INTERNAL_ERROR, f"internal error: {type(error).__name__}; please report it")
        await answers.add(None if call.id is None else call.answer(result))
        if isinstance(result, StartResult):
            self._daemon.announce(result.run_id)
        taken_up.set()


class _Answers:
    """The answers to one line, sent together when the last of them is there (J6)."""

    def __init__(self, outbox: Outbox, count: int, *, batch: bool) -> None:
        self._outbox = outbox
        self._missing = count
        self._batch = batch
        self._answers: list[Answer] = []

    async def add(self, answer: Answer | None) -> None:
        """One more, or with None that there is none to a notification."""
        self._missing -= 1
        if answer is not None:
            self._answers.append(answer)
        if not self._missing and self._answers:
            await self._outbox.send([self._answers] if self._batch else self._answers)
