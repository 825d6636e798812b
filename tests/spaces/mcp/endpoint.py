"""Run a scripted MCP server at a URL, in a thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from typing_extensions import override

__all__ = ["Endpoint", "Request", "Response", "accepted", "as_events", "as_json", "endpoint", "result_of", "well"]

Json = dict[str, Any]


class Request(NamedTuple):
    """What came; `message` is empty where there was no body."""

    method: str
    path: str
    headers: dict[str, str]
    message: Json


class Response(NamedTuple):
    """What goes back; the body ends with the connection."""

    status: int
    headers: dict[str, str]
    body: Iterable[bytes] = ()


Behaviour = Callable[["Endpoint", Request], Response]


class Endpoint:
    """A running server and what came to it."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.requests: list[Request] = []
        self.over = threading.Event()
        """The test is; who waits for something else no longer has to."""
        self.answered = threading.Event()
        """A message came that is the answer to a request of the server's."""
        self.url = ""

    def methods(self) -> list[str]:
        """What was asked for, in order."""
        return [request.message.get("method", request.method) for request in self.requests]


@contextmanager
def endpoint(behaviour: Behaviour) -> Iterator[Endpoint]:
    """A server on the loopback interface."""
    running = Endpoint(behaviour)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, json.loads(body or b"{}"))
            running.requests.append(request)
            if "method" not in request.message and request.method == "POST":
                running.answered.set()
            response = running.behaviour(running, request)
            try:
                self.send_response(response.status)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for piece in response.body:
                    self.wfile.write(piece)
                    self.wfile.flush()
            except OSError:
                pass  # who asked has gone

        do_DELETE = do_POST  # noqa: N815 - the library's name

        @override
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    running.url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    try:
        yield running
    finally:
        running.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def result_of(request: Request, *names: str) -> Json:
    """A good result for a request, for a server with these tools, one on each page."""
    if request.message["method"] == "initialize":
        return {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}}
    number = int(request.message["params"].get("cursor", "0"))
    more = {"nextCursor": str(number + 1)} if number + 1 < len(names) else {}
    return {"tools": [{"name": name} for name in names[number : number + 1]], **more}


def accepted() -> Response:
    """For notifications, answers, and the end of a session."""
    return Response(202, {})


def as_json(request: Request, result: Json, **headers: str) -> Response:
    """A result as JSON."""
    body = json.dumps({"jsonrpc": "2.0", "id": request.message["id"], "result": result}).encode()
    return Response(200, {"Content-Type": "application/json; charset=utf-8", **headers}, [body])


def as_events(request: Request, result: Json, *before: bytes, **headers: str) -> Response:
    """A result in a stream of events, which goes on when it has been told."""
    event = json.dumps({"jsonrpc": "2.0", "id": request.message["id"], "result": result}).encode()
    return Response(200, {"Content-Type": "text/event-stream", **headers}, [*before, b"data: " + event + b"\n\n"])


def well(*names: str) -> Behaviour:
    """A good server without sessions."""
    return lambda _, request: as_json(request, result_of(request, *names)) if "id" in request.message else accepted()
