"""Test MCP servers at a URL: the requests, and protection against hostile answers."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.spaces.mcp import ServerError, list_tools

from ...faults.leftovers import descriptors
from ...rows import rows
from .endpoint import Endpoint, Request, Response, accepted, as_events, as_json, endpoint, result_of, well
from .servers import LONG, NEVER, remote

pytestmark = pytest.mark.rule("U11")
SECRET = "sk-said-by-the-server"
GONE, OTHER, SLOW = "cannot be reached", "does not answer like", "did not answer in"
EVENTS = {"Content-Type": "text/event-stream"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def _nothing_left_open() -> Iterator[None]:
    before = descriptors().keys()
    yield
    assert descriptors().keys() == before


async def test_a_server_is_asked_for_the_names_of_its_tools() -> None:
    with endpoint(well("b", "a", "b")) as server:
        assert await list_tools(remote(server.url), seconds=LONG) == ("b", "a")
    assert server.methods() == ["initialize", "notifications/initialized", *["tools/list"] * 3]
    first, *others = server.requests
    assert first.message["params"]["protocolVersion"] == "2025-06-18"
    assert "mcp-protocol-version" not in first.headers
    assert {request.headers["mcp-protocol-version"] for request in others} == {"2025-03-26"}
    for request in server.requests:
        assert request.headers["accept"] == "application/json, text/event-stream"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["accept-encoding"] == "identity"
        assert "mcp-session-id" not in request.headers


async def test_a_session_is_kept_to_and_ended() -> None:
    def behave(_: Endpoint, request: Request) -> Response:
        if "id" not in request.message:
            return accepted()
        named = {"Mcp-Session-Id": "s-1"} if request.message["method"] == "initialize" else {}
        return as_json(request, result_of(request, "a"), **named)

    with endpoint(behave) as server:
        assert await list_tools(remote(server.url), seconds=LONG) == ("a",)
    assert server.methods() == ["initialize", "notifications/initialized", "tools/list", "DELETE"]
    assert [request.headers.get("mcp-session-id") for request in server.requests] == [None, "s-1", "s-1", "s-1"]


@pytest.mark.parametrize("ending", ["refused", "hangs", "hangs up"])
async def test_a_session_that_cannot_be_ended_is_left(ending: str) -> None:
    def behave(server: Endpoint, request: Request) -> Response:
        if request.method == "DELETE":
            if ending == "hangs":
                server.over.wait()
            return Response(405 if ending == "refused" else 0, {})
        if "id" not in request.message:
            return accepted()
        return as_json(request, result_of(request, "a"), **{"Mcp-Session-Id": "s-1"})

    with endpoint(behave) as server:
        assert await list_tools(remote(server.url), seconds=LONG) == ("a",)


async def test_an_answer_may_come_in_a_stream_that_goes_on() -> None:
    def behave(server: Endpoint, request: Request) -> Response:
        if "id" not in request.message:
            return accepted()
        note = b'event: message\r\ndata: {"method":"notifications/message","params":{}}\r\n\r\n'
        told = as_events(request, result_of(request, "a", "b"), b"\xef\xbb\xbf: aside\n\ndata:\n\n", note)

        def body() -> Iterator[bytes]:
            yield from told.body
            server.over.wait()

        return told._replace(body=body())

    with endpoint(behave) as server:
        assert await list_tools(remote(server.url), seconds=LONG) == ("a", "b")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ({"id": "p-1", "method": "ping"}, {"jsonrpc": "2.0", "id": "p-1", "result": {}}),
        ({"id": 5, "method": "roots/list", "params": {}}, {"jsonrpc": "2.0", "id": 5, "error": {"code": -32601}}),
    ],
)
async def test_a_request_of_the_server_is_answered_while_it_makes_us_wait(
    question: dict[str, Any], answer: dict[str, Any]
) -> None:
    def behave(server: Endpoint, request: Request) -> Response:
        if "id" not in request.message or "method" not in request.message:
            return accepted()
        if request.message["method"] == "initialize":
            return as_json(request, result_of(request))

        def body() -> Iterator[bytes]:
            yield b"data: " + json.dumps(question).encode() + b"\n\n"
            server.answered.wait()
            yield from as_events(request, result_of(request, "a")).body

        return Response(200, EVENTS, body())

    with endpoint(behave) as server:
        assert await list_tools(remote(server.url), seconds=LONG) == ("a",)
    (told,) = [request.message for request in server.requests if "method" not in request.message and request.message]
    if "error" in told:
        del told["error"]["message"]
    assert told == answer


async def test_several_messages_may_come_at_once() -> None:
    def behave(_: Endpoint, request: Request) -> Response:
        if "id" not in request.message or "method" not in request.message:
            return accepted()
        reply = {"id": request.message["id"], "result": result_of(request, "a")}
        return Response(200, JSON, [json.dumps([{"id": 7, "method": "ping"}, reply]).encode()])

    with endpoint(behave) as server:
        assert await list_tools(remote(server.url), seconds=LONG) == ("a",)
    assert [request.message["id"] for request in server.requests if "result" in request.message] == [7, 7]


def whatever(response: Callable[[], Response]) -> Callable[[Endpoint, Request], Response]:
    """A server that answers so whatever it is asked."""
    return lambda _server, _request: response()


def _for_ever(piece: bytes) -> Iterator[bytes]:
    while True:
        yield piece


@rows(
    "response",
    [
        lambda: Response(404, JSON, [SECRET.encode()]),
        lambda: Response(401, {"WWW-Authenticate": f'Bearer realm="{SECRET}"'}),
        lambda: Response(500, JSON, [b"{}"]),
        lambda: Response(301, {"Location": "/elsewhere"}),
        lambda: Response(307, {"Location": "/elsewhere"}),
        lambda: Response(202, {}),
        lambda: Response(200, {}, [b"{}"]),
        lambda: Response(200, {"Content-Type": "text/html"}, [SECRET.encode()]),
        lambda: Response(200, JSON, [b""]),
        lambda: Response(200, JSON, [SECRET.encode()]),
        lambda: Response(200, JSON, [b'{"id":1,"error":{"code":1,"message":"' + SECRET.encode() + b'"}}']),
        lambda: Response(200, JSON, [b'{"id":2,"result":{"protocolVersion":"2025-06-18"}}']),
        lambda: Response(200, JSON, [b'{"id":1,"result":{"protocolVersion":"' + SECRET.encode() + b'"}}']),
        lambda: Response(200, JSON, [b"[" * 100_000]),
        lambda: Response(200, JSON, _for_ever(b" " * 65_536)),
        lambda: Response(200, JSON | {"Content-Encoding": "gzip"}, [gzip.compress(b" " * 50_000_000)]),
        lambda: Response(200, JSON | {"Mcp-Session-Id": "a b"}, [b"{}"]),
        lambda: Response(200, JSON | {"Mcp-Session-Id": "\xe4"}, [b"{}"]),
        lambda: Response(200, JSON | {"Mcp-Session-Id": "x" * 5_000}, [b"{}"]),
        lambda: Response(200, EVENTS, []),
        lambda: Response(200, EVENTS, [b'data: {"id":1,"result":{"protocolVersion":"2025-06-18"}}\n']),
        lambda: Response(200, EVENTS, [SECRET.encode() + b"\n\n"]),
        lambda: Response(200, EVENTS, _for_ever(b"x" * 65_536)),
        lambda: Response(200, EVENTS, _for_ever(b"\n" * 65_536)),
        lambda: Response(200, EVENTS, _for_ever(b"data: " + b"x" * 65_536 + b"\n")),
        lambda: Response(200, EVENTS, _for_ever(b'data: {"id":1,"method":"ping"}\n\n')),
    ],
)
async def test_an_answer_that_is_none_is_told_and_not_quoted(response: Callable[[], Response]) -> None:
    with endpoint(whatever(response)) as server:
        with pytest.raises(ServerError, match=OTHER) as caught, trio.fail_after(LONG):
            await list_tools(remote(server.url), seconds=LONG)
    assert SECRET not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert {request.path for request in server.requests} == {"/mcp"}


@pytest.mark.parametrize("at", ["initialize", "notifications/initialized", "tools/list"])
async def test_a_refusal_at_any_step_is_told(at: str) -> None:
    def behave(server: Endpoint, request: Request) -> Response:
        return Response(500, {}) if request.message["method"] == at else well("a")(server, request)

    with endpoint(behave) as server:
        with pytest.raises(ServerError, match=OTHER):
            await list_tools(remote(server.url), seconds=LONG)


@pytest.mark.parametrize("at", ["initialize", "notifications/initialized", "tools/list", "stream"])
@pytest.mark.fault("turns", "An MCP server hangs at any step of HTTP", "The adapter does not wait for it")
async def test_a_server_that_hangs_is_not_waited_for(at: str) -> None:
    def behave(server: Endpoint, request: Request) -> Response:
        def body() -> Iterator[bytes]:
            yield b": we are here\n\n"
            server.over.wait()

        if at == "stream":
            return Response(200, EVENTS, body())
        if request.message["method"] == at:
            server.over.wait()
        return well("a")(server, request)

    with endpoint(behave) as server:
        with pytest.raises(ServerError, match=SLOW):
            await list_tools(remote(server.url), seconds=NEVER)


async def test_a_cancellation_comes_through() -> None:
    asked = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def behave(server: Endpoint, request: Request) -> Response:
        def body() -> Iterator[bytes]:
            yield b"data: {}\n\n"
            token.run_sync_soon(asked.set)
            server.over.wait()

        return Response(200, EVENTS | {"Mcp-Session-Id": "s-1"}, body()) if request.message else accepted()

    with endpoint(behave) as server:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: list_tools(remote(server.url), seconds=LONG))
            await asked.wait()
            nursery.cancel_scope.cancel()
    assert server.methods() == ["initialize", "DELETE"]


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"SSH-2.0-x\r\n", b"\xff" * 70_000])
async def test_a_server_that_speaks_no_http_is_told(said: bytes) -> None:
    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some(65_536)
            with suppress(trio.BrokenResourceError):
                await stream.send_all(said)

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listener.socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, serve, [listener])
        with pytest.raises(ServerError, match=GONE):
            await list_tools(remote(f"http://127.0.0.1:{port}/"), seconds=LONG)
        nursery.cancel_scope.cancel()


@rows(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "https://localhost:{port}/",
        "http://[::1/",
        "http:///nowhere",
        "ftp://localhost/",
        "nothing",
        "",
        "http://localhost:99999/",
        "http://\N{SNOWMAN}\x00/",
        "http://127.0.0.1\n/",
        "http://" + "x" * 70 + ".localhost/",
    ],
)
async def test_a_url_at_which_nobody_is_is_told(url: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ServerError, match=GONE):
        await list_tools(remote(url.replace("{port}", str(port))), seconds=LONG)


async def test_no_proxy_stands_between_us_and_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with endpoint(well("a")) as server:
        assert await list_tools(remote(server.url), seconds=LONG) == ("a",)
        with contextlib.suppress(socket.gaierror):  # a machine without /etc/hosts knows no name
            socket.getaddrinfo("localhost", None)
            assert await list_tools(remote(server.url.replace("127.0.0.1", "localhost")), seconds=LONG) == ("a",)


async def test_other_machines_are_reached_by_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with endpoint(well("a")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert await list_tools(remote("http://mcp.example/x"), seconds=LONG) == ("a",)
    assert {request.path for request in proxy.requests} == {"http://mcp.example/x"}


async def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    monkeypatch.delitem(sys.modules, "codex_adapter.spaces.mcp.streamable_http", raising=False)
    with pytest.raises(ServerError, match="pip install 'httpx2>="):
        await list_tools(remote("http://127.0.0.1:1/"), seconds=LONG)


ANSWERS = st.tuples(
    st.sampled_from([200, 200, 200, 202, 204, 404]),
    st.sampled_from(["application/json", "text/event-stream", "text/event-stream; charset=utf-8", "x"]),
    st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.sampled_from(
                [
                    b"data: ",
                    b"\n\n",
                    b'{"id":1,"result":{"protocolVersion":"2025-06-18"}}',
                    b'{"id":2,"result":{"tools":[{"name":"a"}]}}',
                    b'{"id":2,"result":{"tools":[],"nextCursor":"x"}}',
                    b'{"id":3,"method":"ping"}',
                ]
            ),
        ),
        max_size=6,
    ),
)


@given(st.lists(ANSWERS, min_size=1, max_size=4))
def test_any_answers_come_to_names_or_an_error_of_ours(answers: list[tuple[int, str, list[bytes]]]) -> None:
    def behave(server: Endpoint, _: Request) -> Response:
        status, kind, body = answers[len(server.requests) % len(answers)]
        return Response(status, {"Content-Type": kind}, body)

    async def ask(url: str) -> None:
        with suppress(ServerError):
            await list_tools(remote(url), seconds=LONG)

    with endpoint(behave) as server:
        trio.run(ask, server.url)
