"""Servers at a URL: each message a POST, its answer JSON or a stream of events (U11)."""

from __future__ import annotations

import ipaddress
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import httpx2
import trio

from codex_adapter.spaces.mcp.bodies import Body, Events, Whole
from codex_adapter.spaces.mcp.errors import ServerError, misunderstood, unreachable
from codex_adapter.spaces.mcp.inquiry import tools_of
from codex_adapter.spaces.mcp.messages import Asked, Replied, answer, heard, notification, request

__all__ = ["tools_by_http"]

_TYPES: Final[Mapping[str, type[Body]]] = {"application/json": Whole, "text/event-stream": Events}
_HEADERS: Final = {
    "Accept": "application/json, text/event-stream",
    "Accept-Encoding": "identity",  # what is compressed has no bound
    "Content-Type": "application/json",
}
_SESSION: Final = "Mcp-Session-Id"
_SESSION_ID: Final = re.compile(r"[\x21-\x7e]{1,4096}")
_MOST_ANSWERS: Final = 100
"""What a server can ask us beside one request of ours, and be answered."""
_GRACE: Final = 1.0
_FAILURES: Final = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError, ImportError)
"""Of the library, and those of names that cannot be looked up, and of proxies that cannot be used."""


async def tools_by_http(url: str) -> tuple[str, ...]:
    """As `tools_of`, for a URL, where no session is left then if the server lets us end it (U11)."""
    try:
        async with _client(httpx2.URL(url)) as client:
            channel = _HttpChannel(client, url)
            try:
                return await tools_of(channel)
            finally:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + _GRACE):
                    await channel.leave()
    except _FAILURES:
        raise unreachable() from None


def _client(url: httpx2.URL) -> httpx2.AsyncClient:
    # To read whom one may trust takes a twentieth of a second, in which nothing else is done. Without it nobody is.
    trusted = url.scheme != "http" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The environment has proxies for other machines. The time limit is the caller's.
    elsewhere = not _is_loopback(url.host)
    return httpx2.AsyncClient(verify=trusted, trust_env=elsewhere, follow_redirects=False, timeout=None)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class _HttpChannel:
    """A `Channel` by HTTP."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        self._client = client
        self._url = url
        self._number = 0
        self._headers = dict(_HEADERS)

    async def ask(self, method: str, params: Mapping[str, Any]) -> Replied:
        """As `Channel.ask`."""
        self._number += 1
        questions, unanswered = trio.open_memory_channel[Asked](_MOST_ANSWERS)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._answer, unanswered)
            with questions:
                outcome = await self._outcome(request(self._number, method, params), questions)
            if isinstance(outcome, ServerError):
                nursery.cancel_scope.cancel()
        if isinstance(outcome, ServerError):
            raise outcome
        return outcome

    async def tell(self, method: str) -> None:
        """As `Channel.tell`."""
        async with self._posted(notification(method)):
            pass

    def agree(self, revision: str) -> None:
        """As `Channel.agree`."""
        self._headers["MCP-Protocol-Version"] = revision

    async def leave(self) -> None:
        """End the session, if there is one."""
        if _SESSION in self._headers:
            with suppress(*_FAILURES):
                async with self._client.stream("DELETE", self._url, headers=self._headers):
                    pass

    async def _answer(self, unanswered: trio.MemoryReceiveChannel[Asked]) -> None:
        with unanswered, suppress(ServerError, *_FAILURES):
            async for asked in unanswered:
                async with self._posted(answer(asked)):
                    pass

    async def _outcome(self, message: bytes, questions: trio.MemorySendChannel[Asked]) -> Replied | ServerError:
        replies: list[Replied] = []

        def take(text: bytes) -> bool:
            for said in heard(text):
                if isinstance(said, Replied):
                    replies.extend([said] if said.number == self._number else [])
                else:
                    with suppress(trio.WouldBlock):
                        questions.send_nowait(said)
            return bool(replies)

        try:
            async with self._posted(message) as response:
                await _read(response, take)
        except ServerError as error:
            return error
        except _FAILURES:
            return unreachable()
        return replies[0] if replies else misunderstood()

    @asynccontextmanager
    async def _posted(self, message: bytes) -> AsyncIterator[httpx2.Response]:
        async with self._client.stream("POST", self._url, content=message, headers=self._headers) as response:
            session = response.headers.get(_SESSION)
            if not response.is_success or (session is not None and not _SESSION_ID.fullmatch(session)):
                raise misunderstood()
            if session is not None:
                self._headers.setdefault(_SESSION, session)
            yield response


async def _read(response: httpx2.Response, take: Callable[[bytes], bool]) -> None:
    """Give `take` each message of a response, until it has enough. Raises `ServerError`."""
    body = _body(response)
    failure: ServerError | None = None
    # The library reads by generators within generators, which all end only by their own end or by a cancellation.
    with trio.CancelScope() as enough:
        async for data in response.aiter_raw():
            if enough.cancel_called:
                continue
            try:
                if any(take(message) for message in body.take(data)):
                    enough.cancel()
            except ServerError as error:
                failure = error
                enough.cancel()
    if failure is not None:
        raise failure
    for message in body.end():
        take(message)


def _body(response: httpx2.Response) -> Body:
    kind = _TYPES.get(response.headers.get("Content-Type", "").partition(";")[0].strip().lower())
    if kind is None:
        raise misunderstood()
    return kind()
