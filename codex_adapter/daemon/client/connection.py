"""Exchange messages with a daemon: requests and their answers, and the records of runs (J1, J3, J4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import trio
from msgspec import Raw

from codex_adapter.core.framing import LineFramer, OversizeLine
from codex_adapter.daemon.client.errors import (
    daemon_exited_error,
    error_of_refusal,
    no_answer_error,
    protocol_error,
)
from codex_adapter.daemon.messages import PROTOCOL_VERSION, InitializeResult
from codex_adapter.errors import AdapterError
from codex_adapter.events import Event
from codex_adapter.records import Record, decode_record

__all__ = ["PATIENCE", "Connection", "Reply"]

PATIENCE: Final = 30.0
"""Seconds for a daemon to send its first answer, and to end its runs. After that it is killed. (K4)"""
_READ_SIZE: Final = 65_536
_MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""A limit above the size of any message of a daemon."""
_ABSENT: Final = Raw()
_T = TypeVar("_T")


class Reply:
    """The future answer to one request."""

    def __init__(self, agent_kind: str) -> None:
        self._agent_kind = agent_kind
        self._arrived = trio.Event()
        self._answer: Raw | AdapterError = _ABSENT

    def deliver(self, answer: Raw | AdapterError) -> None:
        """Set the result or the error."""
        self._answer = answer
        self._arrived.set()

    async def result(self, kind: type[_T]) -> _T:
        """Wait for the result. Raise an `AdapterError` if the request was refused, or the daemon has exited."""
        await self._arrived.wait()
        if isinstance(self._answer, AdapterError):
            raise self._answer
        # Raise outside of the handler: the context of the error could quote the answer (X1).
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            return msgspec.json.decode(self._answer, type=kind)
        raise protocol_error(self._agent_kind)


class _Message(msgspec.Struct):
    """A message of the daemon. Later releases may send other messages."""

    method: str | None = None
    params: Raw = _ABSENT
    id: int | None = None
    result: Raw = _ABSENT
    error: Raw = _ABSENT


class _RunNotification(msgspec.Struct, rename="camel"):
    run_id: str
    event: Raw = _ABSENT
    completion: Raw = _ABSENT


class _Listener(NamedTuple):
    on_record: Callable[[Record], None]
    on_disconnect: Callable[[], None]


_OF_RUNS: Final = frozenset({"run/event", "run/completed"})
_message = msgspec.json.Decoder(_Message)
_run_notification = msgspec.json.Decoder(_RunNotification)


class Connection:
    """The connection to a daemon. `run` is its task. Of the other methods, only `initialize` waits.

    All runs have one agent kind. `kill` ends a daemon that hangs.
    """

    def __init__(
        self,
        requests: trio.abc.SendStream,
        answers: trio.abc.ReceiveStream,
        agent_kind: str,
        kill: Callable[[], None],
    ) -> None:
        self.agent_kind = agent_kind
        self._requests = requests
        self._answers = answers
        self._kill = kill
        self._ids = count(1)
        self._replies: dict[int, Reply] = {}
        self._listeners: dict[str, _Listener] = {}
        self._unsent: list[bytes] = []
        self._has_unsent = trio.Event()
        self._no_more_requests = trio.Event()
        self._running = trio.CancelScope(shield=True)
        self._disconnected = False

    async def run(self) -> None:
        """Write and read until the daemon closes its output or the connection is aborted. Then close both pipes."""
        try:
            with self._running:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write)
                    nursery.start_soon(self._close_requests)
                    await self._read()
                    nursery.cancel_scope.cancel()
            if self._running.cancelled_caught:
                self._kill()
            await trio.aclose_forcefully(self._requests)
            await trio.aclose_forcefully(self._answers)
        finally:
            self._disconnect()

    def end_requests(self) -> None:
        """Close the daemon's stdin, so that it ends its runs and exits. Kill it after `PATIENCE` seconds."""
        self._no_more_requests.set()
        self._running.deadline = trio.current_time() + PATIENCE

    def abort(self) -> None:
        """Kill a program that hangs or is not a daemon."""
        self._running.cancel()

    def request(self, method: str, params: Mapping[str, Any]) -> Reply:
        """Send a request."""
        id_ = next(self._ids)
        reply = self._replies[id_] = Reply(self.agent_kind)
        self._send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        if self._disconnected:
            self._disconnect()
        return reply

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def initialize(self) -> InitializeResult:
        """Send the first request. Raise `BackendError` if the program is not a daemon of this protocol."""
        params = {"protocolVersion": PROTOCOL_VERSION, "clientInfo": {"name": "codex_adapter.daemon.client"}}
        try:
            return await self._first_result(self.request("initialize", params))
        except BaseException:
            # The daemon has no run to end yet.
            self.abort()
            raise

    async def _first_result(self, reply: Reply) -> InitializeResult:
        with trio.move_on_after(PATIENCE):
            server = await reply.result(InitializeResult)
            if server.protocol_version != PROTOCOL_VERSION:
                raise protocol_error(self.agent_kind)
            return server
        raise no_answer_error(self.agent_kind, PATIENCE)

    def listen(self, run_id: str, on_record: Callable[[Record], None], on_disconnect: Callable[[], None]) -> None:
        """Call `on_record` with each record of a run until its completion, or `on_disconnect` if the daemon exits."""
        self._listeners[run_id] = _Listener(on_record, on_disconnect)

    def forget(self, run_id: str) -> None:
        """Stop the calls for this run."""
        self._listeners.pop(run_id, None)

    def _send(self, message: Mapping[str, Any]) -> None:
        if not self._disconnected:
            self._unsent.append(msgspec.json.encode(message) + b"\n")
            self._has_unsent.set()

    async def _write(self) -> None:
        while True:
            await self._has_unsent.wait()
            self._has_unsent = trio.Event()
            data, self._unsent = b"".join(self._unsent), []
            try:
                await self._requests.send_all(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return  # the daemon has exited; the reader finds the end of its output

    async def _close_requests(self) -> None:
        await self._no_more_requests.wait()
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
            return  # these are not messages of a daemon

    def _take(self, message: _Message) -> None:
        if message.method == "initialize":
            raise ValueError  # a request: the program repeats its input
        if message.method is None:
            self._take_answer(message)
        elif message.method in _OF_RUNS:
            self._dispatch(_run_notification.decode(message.params))

    def _take_answer(self, message: _Message) -> None:
        if message.id is None:
            # The daemon could not read a request, which would wait forever for its answer.
            raise ValueError
        answer = error_of_refusal(message.error, self.agent_kind) if message.error else message.result
        if (reply := self._replies.pop(message.id, None)) is not None:
            reply.deliver(answer)

    def _dispatch(self, notification: _RunNotification) -> None:
        listener = self._listeners.get(notification.run_id)
        if listener is None:
            return
        record = decode_record(bytes(notification.event or notification.completion))
        if not isinstance(record, Event):
            self.forget(notification.run_id)
        listener.on_record(record)

    def _disconnect(self) -> None:
        """Report the exit of the daemon to all waiting requests and runs."""
        self._disconnected = True
        for reply in self._replies.values():
            reply.deliver(daemon_exited_error(self.agent_kind))
        for listener in self._listeners.values():
            listener.on_disconnect()
        self._replies, self._listeners, self._unsent = {}, {}, []
