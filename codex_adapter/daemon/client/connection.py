"""The conversation with a daemon: requests and their answers, and what is told of runs (J1, J3, J4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Final, Protocol, TypeVar

import msgspec
import trio
from msgspec import Raw

from codex_adapter.core.framing import LineFramer, OversizeLine
from codex_adapter.daemon.client.errors import error_in_record, gone, misunderstood, refused, silent
from codex_adapter.daemon.messages import PROTOCOL_VERSION, InitializeResult
from codex_adapter.errors import AdapterError
from codex_adapter.events import Completion, Event
from codex_adapter.records import CompletedRecord, FailedRecord, Record, decode_record

__all__ = ["PATIENCE", "Connection", "Listener", "Reply"]

PATIENCE: Final = 30.0
"""Seconds for a daemon to answer at first, and to end runs (each has a bound of its own, K4); then it is killed."""
_READ_SIZE: Final = 65_536
_MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""More than any message of a daemon has."""
_ABSENT: Final = Raw()
_T = TypeVar("_T")


class Listener(Protocol):
    """A run that hears of itself."""

    def happened(self, event: Event) -> None:
        """Its next event."""

    def completed(self, outcome: Completion | AdapterError) -> None:
        """Its end; nothing comes after it."""

    def lost(self) -> None:
        """The daemon will say no more of it."""


class Reply:
    """What will be answered to one request."""

    def __init__(self) -> None:
        self._there = trio.Event()
        self._result: Raw | AdapterError | None = None

    def give(self, result: Raw | AdapterError) -> None:
        """Here it is."""
        self._result = result
        self._there.set()

    async def of(self, kind: type[_T]) -> _T:
        """The result. Raises an `AdapterError` when it was refused, or the daemon has ended."""
        await self._there.wait()
        if isinstance(self._result, Raw):
            # Raised where no other error is at hand that could quote what was said (X1).
            with suppress(msgspec.MsgspecError, ValueError, RecursionError):
                return msgspec.json.decode(self._result, type=kind)
            raise misunderstood()
        raise self._result or gone()


class _Message(msgspec.Struct):
    """A message of the daemon, of which later releases may send others."""

    method: str | None = None
    params: Raw = _ABSENT
    id: int | None = None
    result: Raw = _ABSENT
    error: Raw = _ABSENT


class _News(msgspec.Struct, rename="camel"):
    run_id: str
    event: Raw = _ABSENT
    completion: Raw = _ABSENT


_NEWS: Final = frozenset({"run/event", "run/completed"})
_message = msgspec.json.Decoder(_Message)
_news = msgspec.json.Decoder(_News)


class Connection:
    """Both ends of a daemon's pipes; `carry` is its task, everything else is done without waiting.

    `kill` ends a daemon that hangs.
    """

    def __init__(
        self, requests: trio.abc.SendStream, answers: trio.abc.ReceiveStream, kill: Callable[[], None]
    ) -> None:
        self._requests = requests
        self._answers = answers
        self._kill = kill
        self._numbers = count(1)
        self._waiting: dict[int, Reply] = {}
        self._listeners: dict[str, Listener] = {}
        self._unsent: list[bytes] = []
        self._something = trio.Event()
        self._left = trio.Event()
        self._carrying = trio.CancelScope(shield=True)
        self._lost = False

    async def carry(self) -> None:
        """Write and read until the daemon has ended its output, or is given up; then both pipes are closed."""
        try:
            with self._carrying:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write)
                    nursery.start_soon(self._hang_up)
                    await self._read()
                    nursery.cancel_scope.cancel()
            if self._carrying.cancelled_caught:
                self._kill()
            await trio.aclose_forcefully(self._requests)
            await trio.aclose_forcefully(self._answers)
        finally:
            self._lose()

    def leave(self) -> None:
        """There will be no more requests: the daemon is to end its runs and itself, which takes a bounded time."""
        self._left.set()
        self._carrying.deadline = trio.current_time() + PATIENCE

    def give_up(self) -> None:
        """The daemon hangs, or is none."""
        self._carrying.cancel()

    def ask(self, method: str, params: Mapping[str, Any]) -> Reply:
        """Send a request."""
        number = next(self._numbers)
        reply = self._waiting[number] = Reply()
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if self._lost:
            self._lose()
        return reply

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def initialize(self) -> InitializeResult:
        """Begin the conversation. Raises `BackendError` when there is no daemon at the other end."""
        params = {"protocolVersion": PROTOCOL_VERSION, "clientInfo": {"name": "codex_adapter.daemon.client"}}
        try:
            return _agreed(await self._first_answer(params))
        except BaseException:
            # It has no run that would have to be ended.
            self.give_up()
            raise

    async def _first_answer(self, params: Mapping[str, Any]) -> InitializeResult:
        with trio.move_on_after(PATIENCE):
            return await self.ask("initialize", params).of(InitializeResult)
        raise silent(PATIENCE)

    def listen(self, run_id: str, listener: Listener) -> None:
        """Tell a run of itself from now on, until its completion or `forget`."""
        self._listeners[run_id] = listener

    def forget(self, run_id: str) -> None:
        """There is no such run."""
        self._listeners.pop(run_id, None)

    def _send(self, message: Mapping[str, Any]) -> None:
        if not self._lost:
            self._unsent.append(msgspec.json.encode(message) + b"\n")
            self._something.set()

    async def _write(self) -> None:
        while True:
            await self._something.wait()
            self._something = trio.Event()
            data, self._unsent = b"".join(self._unsent), []
            try:
                await self._requests.send_all(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return  # it has ended, as its output will tell

    async def _hang_up(self) -> None:
        await self._left.wait()
        await self._requests.aclose()

    async def _read(self) -> None:
        framer = LineFramer(_MAX_LINE_BYTES)
        try:
            while data := bytes(await self._answers.receive_some(_READ_SIZE)):
                for line in framer.receive_data(data):
                    if isinstance(line, OversizeLine):
                        return
                    self._take(_message.decode(line))
                if framer.skipping:
                    return
        except (trio.BrokenResourceError, msgspec.MsgspecError, ValueError, RecursionError):
            return  # whoever speaks so is no daemon

    def _take(self, message: _Message) -> None:
        if message.method == "initialize":
            raise ValueError  # our own request: a program that repeats its input
        if message.method is None:
            self._answered(message)
        elif message.method in _NEWS:
            self._tell_of(_news.decode(message.params))

    def _answered(self, message: _Message) -> None:
        if message.id is None:
            # One of our requests was no message to it, and we could wait for ever for its answer.
            raise ValueError
        result = refused(message.error) if message.error else message.result
        if (reply := self._waiting.pop(message.id, None)) is not None:
            reply.give(result)

    def _tell_of(self, news: _News) -> None:
        listener = self._listeners.get(news.run_id)
        if listener is None:
            return
        record: Record = decode_record(bytes(news.event or news.completion))
        if not isinstance(record, Event):
            self.forget(news.run_id)
        match record:
            case Event():
                listener.happened(record)
            case CompletedRecord(completion=completion):
                listener.completed(completion)
            case FailedRecord(error=error):
                listener.completed(error_in_record(error))

    def _lose(self) -> None:
        """The daemon has ended: nobody waits for it any longer."""
        self._lost = True
        for reply in self._waiting.values():
            reply.give(gone())
        for listener in self._listeners.values():
            listener.lost()
        self._waiting, self._listeners, self._unsent = {}, {}, []


def _agreed(told: InitializeResult) -> InitializeResult:
    if told.protocol_version != PROTOCOL_VERSION:
        raise misunderstood()
    return told
