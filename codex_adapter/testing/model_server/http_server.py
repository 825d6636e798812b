"""Serve HTTP for the scripted model server, with one thread for each connection. All threads end when it stops."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

from typing_extensions import override

from ..scenario import Answer
from .events import encode_event, events_of
from .messages import content_block, is_side_request, message_body, message_events, side_answer
from .playback import Playback
from .tool_calls import Tools, output_item

__all__ = ["LoopbackServer"]

MAX_BODY = 64 * 1024 * 1024
STOP_SECONDS = 5.0


class LoopbackServer(ThreadingHTTPServer):
    """A server on 127.0.0.1 that plays a scenario. It raises OSError if the port is in use. (TK1)"""

    request_queue_size = 64

    def __init__(self, port: int, playback: Playback) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.playback = playback
        self._open: dict[socket.socket, threading.Thread] = {}
        self._open_lock = threading.Lock()
        self._accepting = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)

    @override
    def server_bind(self) -> None:
        # HTTPServer.server_bind resolves the name of the address, which can take long without a network.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def start(self) -> None:
        """Start a thread that accepts connections."""
        self._accepting.start()

    def stop(self) -> None:
        """Close the port and all connections, and wait for their threads for a bounded time."""
        self.playback.close()
        self.shutdown()
        self._accepting.join(STOP_SECONDS)
        self.server_close()
        with self._open_lock:
            threads = list(self._open.values())
            for connection in self._open:
                _hang_up(connection)
        deadline = time.monotonic() + STOP_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        # Record the thread before it starts, so that stop() waits for it.
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        with self._open_lock:
            self._open[request] = thread
        thread.start()

    @override
    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._open_lock:
                del self._open[request]

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: clients may disconnect at any time."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: LoopbackServer

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: standard error is for the program under test."""

    def do_GET(self) -> None:
        if self.headers.get("Upgrade"):
            self._reply(404, {"error": {"message": "WebSocket is not supported. Use plain HTTP."}}, {})
        elif self.path.partition("?")[0].endswith("/models"):
            self._reply(200, {"models": []}, {})
        else:
            self._reply(404, {"error": {"message": "only POST .../responses is served"}}, {})

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            self.close_connection = True
            self._reply(413, {"error": {"message": f"The request body has more than {MAX_BODY} bytes. Send less."}}, {})
        elif self.path.partition("?")[0].endswith("/messages/count_tokens"):
            self._reply(200, {"input_tokens": 100}, {})
        elif not self.path.partition("?")[0].endswith(("/responses", "/messages")):
            self._reply(404, {"error": {"message": "only POST .../responses and .../messages are served"}}, {})
        elif self.headers.get("Content-Encoding", "identity") != "identity":
            self._reply(415, {"error": {"message": "The request body is compressed. Send it uncompressed."}}, {})
        else:
            self._play(body)

    def _play(self, body: bytes) -> None:
        text = body.decode("utf-8", "replace")
        try:
            request = json.loads(text)
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            self._reply(400, {"error": {"message": "The request body must be a JSON object."}}, {})
            return
        playback = self.server.playback
        if is_side_request(request):
            answer, number = side_answer(), 0
        else:
            answer, number = playback.take(request, text)
        if answer.gate is not None:
            playback.wait_for_gate(answer.gate)
        playback.pause(answer.delay)
        if answer.status != 200:
            self._reply(answer.status, answer.body, answer.headers)
        elif self._of_messages and answer.events is None and not request.get("stream"):
            blocks = self._blocks(answer, request, number)
            self._reply(200, message_body(answer, blocks, str(number), str(request.get("model"))), answer.headers)
        else:
            self._stream(answer, request, number)

    def _stream(self, answer: Answer, request: dict[str, Any], number: int) -> None:
        events = self._events(answer, request, number)
        self._head(200, {"Content-Type": "text/event-stream", **answer.headers, "Transfer-Encoding": "chunked"})
        for sent, event in enumerate(events):
            if sent == answer.cut_after:
                self.close_connection = True
                return
            if sent:
                self.server.playback.pause(answer.gap)
            data = encode_event(event)
            if data:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.server.playback.pause(answer.linger)
        self.wfile.write(b"0\r\n\r\n")

    def _events(self, answer: Answer, request: dict[str, Any], number: int) -> Iterator[dict[str, Any] | str]:
        """Return the events of an answer, in the API that the request is of."""
        if self._of_messages:
            blocks = self._blocks(answer, request, number)
            return message_events(answer, blocks, str(number), str(request.get("model")))
        tools = Tools(request)
        return events_of(
            answer,
            [output_item(item, tools, f"{number}_{place}") for place, item in enumerate(answer.items, 1)],
            str(number),
        )

    @property
    def _of_messages(self) -> bool:
        return self.path.partition("?")[0].endswith("/messages")

    def _blocks(self, answer: Answer, request: dict[str, Any], number: int) -> list[dict[str, Any]]:
        items = enumerate(answer.items, 1)
        return [content_block(item, request, f"{number}_{place}") for place, item in items]

    def _reply(self, status: int, body: object, headers: Any) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        data = b"" if body is None else text.encode("utf-8", "surrogatepass")
        self._head(status, {"Content-Type": "application/json", **headers, "Content-Length": str(len(data))})
        self.wfile.write(data)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _body(self) -> bytes | None:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            length = int(self.headers.get("Content-Length", "0"))
            return self.rfile.read(length) if 0 <= length <= MAX_BODY else None
        body = b""
        while size := int(self.rfile.readline(64).partition(b";")[0], 16):
            if len(body) + size > MAX_BODY:
                return None
            body += self.rfile.read(size)
            self.rfile.readline(64)
        self.rfile.readline(64)
        return body


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
