"""The conversation with a daemon: requests and their answers, and what is told of runs (J1, J3, J4)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, Final, Protocol, TypeVar

import msgspec
import trio
from msgspec import Raw

from codex_adapter.client.failures import error_in_record, gone, refused
from codex_adapter.core.framing import LineFramer, OversizeLine
from codex_adapter.errors import AdapterError
from codex_adapter.events import Completion, Event
from codex_adapter.protocols.supervisor.jsonrpc import Error
from codex_adapter.protocols.supervisor.wire import PROTOCOL_VERSION, InitializeResult
from codex_adapter.records import CompletedRecord, FailedRecord, Record, decode_record

__all__ = ["Connection", "Listener", "Reply"]

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
            try:
                return msgspec.json.decode(self._result, type=kind)
            except msgspec.MsgspecError:
                raise gone() from None
        raise self._result or gone()


class _Params(msgspec.Struct, rename="camel"):
    run_id: str
    event: Raw = _ABSENT
    completion: Raw = _ABSENT


class _Incoming(msgspec.Struct):
    id: int | None = None
    result: Raw = _ABSENT
    error: Error | None = None
    params: _Params | None = None


class Connection:
    """Both ends of a daemon's pipes; `carry` is its task, everything else is done without waiting."""

    def __init__(self, requests: trio.abc.SendStream, answers: trio.abc.ReceiveStream) -> None:
        self._requests = requests
        self._answers = answers
        self._numbers = count(1)
        self._waiting: dict[int, Reply] = {}
        self._listeners: dict[str, Listener] = {}
        self._unsent: list[bytes] = []
        self._something = trio.Event()
        self._lost = False

    async def carry(self) -> None:
        """Write and read until the daemon has ended."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write)
            await self._read()
            nursery.cancel_scope.cancel()
        self._lose()

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
        client = {"name": "codex_adapter.client"}
        return await self.ask("initialize", {"protocolVersion": PROTOCOL_VERSION, "clientInfo": client}).of(
            InitializeResult
        )

    def listen(self, run_id: str, listener: Listener) -> None:
        """Tell a run of itself from now on, until its completion or `forget`."""
        self._listeners[run_id] = listener

    def forget(self, run_id: str) -> None:
        """There is no such run."""
        self._listeners.pop(run_id, None)

    def _send(self, message: Mapping[str, Any]) -> None:
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

    async def _read(self) -> None:
        framer = LineFramer(_MAX_LINE_BYTES)
        try:
            while data := bytes(await self._answers.receive_some(_READ_SIZE)):
                for line in framer.receive_data(data):
                    if isinstance(line, OversizeLine):
                        return
                    self._take(msgspec.json.decode(line, type=_Incoming))
        except (trio.BrokenResourceError, trio.ClosedResourceError, msgspec.MsgspecError, ValueError):
            return  # whoever speaks so is no daemon

    def _take(self, message: _Incoming) -> None:
        if message.params is not None:
            self._tell_of(message.params)
        elif message.id is not None and (reply := self._waiting.pop(message.id, None)) is not None:
            reply.give(refused(message.error) if message.error is not None else message.result)

    def _tell_of(self, params: _Params) -> None:
        listener = self._listeners.get(params.run_id)
        if listener is None:
            return
        record: Record = decode_record(bytes(params.event) or bytes(params.completion))
        match record:
            case Event():
                listener.happened(record)
            case CompletedRecord(completion=completion):
                self.forget(params.run_id)
                listener.completed(completion)
            case FailedRecord(error=error):
                self.forget(params.run_id)
                listener.completed(error_in_record(error))

    def _lose(self) -> None:
        """The daemon has ended: nobody waits for it any longer."""
        self._lost = True
        for reply in self._waiting.values():
            reply.give(gone())
        for listener in [*self._listeners.values()]:
            listener.completed(gone())
        self._waiting, self._listeners = {}, {}
