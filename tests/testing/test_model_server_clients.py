"""Test the scripted model server: any client, its port, its requests, and its end."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from codex_adapter.testing import Answer, ModelServer, answer, script
from codex_adapter.testing.model_server.playback import KEPT_REQUESTS

from ..rows import rows
from ..waiting import SOON

pytestmark = pytest.mark.rule("TK1")


@contextmanager
def _connected(server: ModelServer) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=SOON)) as connection:
        yield connection


def _post(connection: http.client.HTTPConnection, request: object, **headers: str) -> tuple[int, bytes]:
    connection.request("POST", "/v1/responses", json.dumps(request), headers)
    response = connection.getresponse()
    return response.status, response.read()


def _ask(server: ModelServer) -> bytes:
    with _connected(server) as connection:
        status, body = _post(connection, {})
    assert status == 200
    return body


def test_a_body_in_chunks_is_read() -> None:
    with ModelServer(script("hi")) as server, _connected(server) as connection:
        connection.request("POST", "/v1/responses", iter([b'{"input":', b'"chunked"}']), encode_chunked=True)
        assert connection.getresponse().status == 200
        assert server.requests == [{"input": "chunked"}]


@rows(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", "/v1/models?client_version=1", {}, None, 200),
        ("GET", "/v1/other", {}, None, 404),
        ("GET", "/v1/responses", {"Upgrade": "websocket"}, None, 404),
        ("POST", "/v1/other", {}, b"{}", 404),
        ("POST", "/v1/responses", {}, b"{", 400),
        ("POST", "/v1/responses", {}, b"[" * 100_000, 400),
        ("POST", "/v1/responses", {}, b"[]", 400),
        ("POST", "/v1/responses", {}, b"\xff", 400),
        ("POST", "/v1/responses", {"Content-Encoding": "zstd"}, b"{}", 415),
        ("POST", "/v1/responses", {"Content-Length": "99999999999"}, None, 413),
    ],
)
def test_other_requests_are_answered_and_count_for_nothing(
    method: str, path: str, headers: dict[str, str], body: bytes | None, status: int
) -> None:
    with ModelServer(script("hi")) as server, _connected(server) as connection:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        assert response.status == status
        assert isinstance(json.loads(response.read()), dict)
        assert server.requests == []


def test_no_more_than_the_newest_requests_are_remembered() -> None:
    with ModelServer(script(fallback=Answer(status=204))) as server, _connected(server) as connection:
        for number in range(KEPT_REQUESTS + 10):
            _post(connection, {"number": number})
        assert [request["number"] for request in server.requests] == list(range(10, KEPT_REQUESTS + 10))


def test_clients_that_vanish_do_no_harm_and_leave_no_trace(capfd: pytest.CaptureFixture[str]) -> None:
    big = answer("x" * 10_000_000, pieces=1000)
    with ModelServer(script(fallback=big)) as server:
        for said in (
            b"",
            b"POST /v1/resp",
            b"POST /v1/responses HTTP/1.1\r\nContent-Length: 100\r\n\r\n{",
            b"POST /v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"POST /v1/responses HTTP/1.1\r\nContent-Length: many\r\n\r\n",
            b"\x16\x03\x01 this is TLS\r\n\r\n",
            b"POST /v1/responses HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        ):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=SOON)
            client.sendall(said)
            # A reset, and no orderly end.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        assert b"x" * 10_000_000 in _ask(server)
    assert capfd.readouterr() == ("", "")


def test_it_stops_in_time_whatever_its_clients_do() -> None:
    request = b"POST /v1/responses HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
    answers = script(
        answer("g", gate="never"), answer("d", delay=3600), answer("l", linger=3600), answer("x" * 10_000_000)
    )
    clients = []
    with ModelServer(answers) as server:
        for said in (b"", b"POST /v1/resp", request[:-1], request, request, request, request):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=SOON)
            client.sendall(said)
            clients.append(client)
        assert server.wait_for_requests(4, timeout=SOON)
        start = time.monotonic()
    assert time.monotonic() - start < SOON
    assert [thread.name for thread in threading.enumerate() if "process_request" in thread.name] == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=SOON)
    for client in clients:
        client.close()


def test_a_port_that_is_given_is_used_and_one_that_is_taken_is_refused() -> None:
    with ModelServer(script()) as server:
        with pytest.raises(OSError, match="in use"), ModelServer(script(), port=server.port):
            pass
        port = server.port
    with ModelServer(script("hi"), port=port) as again:
        assert again.base_url == f"http://127.0.0.1:{port}/v1"
        assert b'"hi"' in _ask(again)


def test_it_has_a_port_once_it_is_entered_and_is_entered_once() -> None:
    server = ModelServer(script())
    with pytest.raises(RuntimeError, match="with block"):
        _ = server.port
    with server, pytest.raises(RuntimeError, match="Create another one"):
        server.__enter__()


def test_a_codex_home_points_at_the_server_and_takes_more_configuration(tmp_path: Path) -> None:
    more = 'approval_policy = "never"\n\n[mcp_servers.x]\ncommand = "y"\n'
    with ModelServer(script()) as server:
        home = server.write_codex_home(tmp_path / "new" / "home", model='a "model"', config=more)
        config = tomllib.loads(Path(home, "config.toml").read_text())
        provider = {"name": "scripted", "base_url": server.base_url, "wire_api": "responses"}
    assert config == {
        "model": 'a "model"',
        "model_provider": "scripted",
        "model_providers": {"scripted": provider},
        "approval_policy": "never",
        "mcp_servers": {"x": {"command": "y"}},
    }
