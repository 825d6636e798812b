"""List the tools of MCP servers at a URL. Each message is a POST; its response is JSON or a stream of events (U11)."""

from __future__ import annotations

import ipaddress
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeAlias

import httpx2
import trio
from typing_extensions import override

from codex_adapter.spaces.mcp.protocol import (
    LONGEST_LINE,
    MISUNDERSTOOD,
    UNREACHABLE,
    LineSplitter,
    Response,
    ServerError,
    ServerRequest,
    Session,
    build_answer,
    read_messages,
)

__all__ = ["Body", "EventBody", "JsonBody", "list_tools_by_http"]

_HEADERS: Final = {
    "Accept": "application/json, text/event-stream",
    "Accept-Encoding": "identity",  # compressed data has no bound
    "Content-Type": "application/json",
}
_SESSION: Final = "Mcp-Session-Id"
_SESSION_ID: Final = re.compile(r"[\x21-\x7e]{1,4096}")
_MOST_ANSWERS: Final = 100
"""The limit of requests from the server that are answered during one request to it."""
_END_GRACE: Final = 1.0
"""Seconds for ending the server's session."""
_FAILURES: Final = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError, ImportError)
"""Errors of the library, of the lookup of host names, and of proxies."""


async def list_tools_by_http(url: str) -> tuple[str, ...]:
    """Return the names of the tools of the server at `url`, and end its session. Raises `ServerError` (U11)."""
    try:
        async with _open_client(httpx2.URL(url)) as client:
            session = _HttpSession(client, url)
            try:
                return await session.list_tools()
            finally:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + _END_GRACE):
                    await session.close()
    except _FAILURES:
        raise ServerError(UNREACHABLE) from None


def _open_client(url: httpx2.URL) -> httpx2.AsyncClient:
    # Loading the trusted certificates blocks for 50 ms. Without TLS, an empty context is enough.
    verify = url.scheme != "http" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The proxies of the environment are for other machines. The caller sets the time limit.
    is_remote = not _is_loopback(url.host)
    return httpx2.AsyncClient(verify=verify, trust_env=is_remote, follow_redirects=False, timeout=None)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class _HttpSession(Session):
    """A session over HTTP."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        super().__init__()
        self._client = client
        self._url = url
        self._session_id: str | None = None

    @override
    async def exchange(self, message: bytes, number: int) -> Response:
        requests, unanswered = trio.open_memory_channel[ServerRequest](_MOST_ANSWERS)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._answer, unanswered)
            with requests:
                outcome = await self._receive_outcome(message, number, requests)
            if isinstance(outcome, ServerError):
                nursery.cancel_scope.cancel()
        if isinstance(outcome, ServerError):
            raise outcome
        return outcome

    @override
    async def notify(self, message: bytes) -> None:
        async with self._post(message):
            pass

    async def close(self) -> None:
        """End the server's session, if it has one."""
        if self._session_id is not None:
            with suppress(*_FAILURES):
                async with self._client.stream("DELETE", self._url, headers=self._build_headers()):
                    pass

    async def _answer(self, unanswered: trio.MemoryReceiveChannel[ServerRequest]) -> None:
        with unanswered, suppress(ServerError, *_FAILURES):
            async for request in unanswered:
                await self.notify(build_answer(request))

    async def _receive_outcome(
        self, message: bytes, number: int, requests: trio.MemorySendChannel[ServerRequest]
    ) -> Response | ServerError:
        """Return the response to request `number`. Send requests from the server to `requests`."""
        responses: list[Response] = []

        def receive(text: bytes) -> bool:
            for received in read_messages(text):
                if isinstance(received, Response):
                    responses.extend([received] if received.number == number else [])
                else:
                    with suppress(trio.WouldBlock):
                        requests.send_nowait(received)
            return bool(responses)

        try:
            async with self._post(message) as http:
                await _read(http, receive)
        except ServerError as error:
            return error
        except _FAILURES:
            return ServerError(UNREACHABLE)
        return responses[0] if responses else ServerError(MISUNDERSTOOD)

    @asynccontextmanager
    async def _post(self, message: bytes) -> AsyncIterator[httpx2.Response]:
        async with self._client.stream("POST", self._url, content=message, headers=self._build_headers()) as http:
            session_id = http.headers.get(_SESSION)
            if not http.is_success or (session_id is not None and not _SESSION_ID.fullmatch(session_id)):
                raise ServerError(MISUNDERSTOOD)
            self._session_id = self._session_id or session_id
            yield http

    def _build_headers(self) -> dict[str, str]:
        own = {_SESSION: self._session_id, "MCP-Protocol-Version": self.revision}
        return _HEADERS | {name: value for name, value in own.items() if value is not None}


async def _read(http: httpx2.Response, receive: Callable[[bytes], bool]) -> None:
    """Pass each message of an HTTP response to `receive`, until `receive` returns true. Raises `ServerError`."""
    body = _choose_body(http)
    failure: ServerError | None = None
    # The library reads with nested generators. Only the end of the data or a cancellation closes all of them.
    with trio.CancelScope() as enough:
        async for data in http.aiter_raw():
            if enough.cancel_called:
                continue
            try:
                if any(receive(message) for message in body.feed(data)):
                    enough.cancel()
            except ServerError as error:
                failure = error
                enough.cancel()
    if failure is not None:
        raise failure
    for message in body.close():
        receive(message)


class JsonBody:
    """Collect a body that is one message."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return no message yet. Raises `ServerError` if the message is too long."""
        if len(self._data) + len(data) > LONGEST_LINE:
            raise ServerError(MISUNDERSTOOD)
        self._data += data
        return []

    def close(self) -> list[bytes]:
        """Return the message."""
        return [bytes(self._data)]


class EventBody:
    """Split a stream of server-sent events, whose lines end in LF or CR LF. The data of each event is a message."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._data: list[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that end in `data`. Raises `ServerError` if a message or the stream is too long."""
        messages = []
        for ended in self._lines.feed(data):
            line = ended.removesuffix(b"\r")
            if line:
                self._add(line)
            else:
                messages.append(b"\n".join(self._data))
                self._data, self._length = [], 0
        return messages

    def close(self) -> list[bytes]:
        """Return nothing: an incomplete event is not a message."""
        return []

    def _add(self, line: bytes) -> None:
        field, _, value = line.removeprefix(b"\xef\xbb\xbf").partition(b":")
        if field == b"data":
            self._length += len(line)
            if self._length > LONGEST_LINE:
                raise ServerError(MISUNDERSTOOD)
            self._data.append(value.removeprefix(b" "))


Body: TypeAlias = JsonBody | EventBody


def _choose_body(http: httpx2.Response) -> Body:
    match http.headers.get("Content-Type", "").partition(";")[0].strip().lower():
        case "application/json":
            return JsonBody()
        case "text/event-stream":
            return EventBody()
    raise ServerError(MISUNDERSTOOD)
