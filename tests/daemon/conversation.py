"""Hold a conversation with a daemon line by line, record both sides, and check how it ends.

A write never blocks, because the conversation reads the daemon's output at the same time. Everything that it waits for
must arrive within `SOON`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from ..waiting import SOON
from .jsonrpc_rules import Line, broken_rules
from .messages import decode, encode
from .run_rules import broken_run_rules

__all__ = ["Conversation"]

_BLOCK: Final = 256 * 1024


class Conversation:
    """One daemon as a process, and all that was said.

    `process` has its stdin and stdout in `stdin` and `stdout`, which may be one socket, and its stderr in the file
    `stderr`. `log` is the conversation; `told` are the messages of the daemon so far, in order.
    """

    def __init__(self, process: subprocess.Popen[bytes], stdin: int, stdout: int, stderr: Path) -> None:
        self.process = process
        self.log: list[Line] = []
        self.told: list[Any] = []
        self.status: int | None = 0
        """What the daemon must exit with; None for anything."""
        self.whole = True
        """Whether all that the daemon owes must be in the log at its end."""
        self.told_to_a_person = ""
        """What must be on standard error."""
        self._stdin: int | None = stdin
        self._stdout: int | None = stdout
        self._stderr = stderr
        self._rest = bytearray()
        self._gone: int | None = None
        for end in (stdin, stdout):
            os.set_blocking(end, False)

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        return self.process.pid

    @property
    def stdin(self) -> int:
        """Where the daemon reads."""
        assert self._stdin is not None, "stdin is closed"
        return self._stdin

    @property
    def stdout(self) -> int:
        """Where the daemon writes."""
        assert self._stdout is not None, "stdout is closed"
        return self._stdout

    @property
    def stderr(self) -> str:
        """What is on standard error so far."""
        return self._stderr.read_text()

    @property
    def output(self) -> bytes:
        """All that the daemon has said."""
        return b"".join(line.data + b"\n" for line in self.log if not line.sent)

    def send(self, *lines: bytes) -> None:
        """Say these lines."""
        self.log += (Line(True, line) for line in lines)
        self.write(b"".join(line + b"\n" for line in lines))

    def say(self, value: Any) -> None:
        """Say a JSON value."""
        self.send(encode(value))

    def write(self, data: bytes, *, listen: bool = True) -> None:
        """Write bytes, none of which come into the log; reads meanwhile where it is to `listen`."""
        view = memoryview(data)
        deadline = time.monotonic() + SOON
        while view:
            assert time.monotonic() < deadline, "the daemon reads nothing"
            readable = [self._stdout] if listen and self._stdout is not None else []
            ready, writable, _ = select.select(readable, [self.stdin], [], 1.0)
            if ready:
                self._receive()
            if writable:
                view = view[os.write(self.stdin, view[:_BLOCK]) :]
                deadline = time.monotonic() + SOON

    def arriving(self) -> Iterator[Any]:
        """All that the daemon says, from the first message on."""
        for index in itertools.count():
            if index >= len(self.told):
                self.receive_until(lambda index=index: len(self.told) > index)  # type: ignore[misc]
            yield self.told[index]

    def receive_until(self, condition: Callable[[], object]) -> None:
        """Read until something is so."""
        deadline = time.monotonic() + SOON
        while not condition():
            assert self._stdout is not None, f"the daemon has closed its output; stderr: {self.stderr!r}"
            assert time.monotonic() < deadline, f"nothing came; the last was {self.told[-3:]!r:.2000}"
            if select.select([self._stdout], [], [], 0.05)[0]:
                self._receive()

    def close_stdin(self) -> None:
        """Say that no more comes."""
        if self._stdin is not None:
            self._gone = len(self.log)
            if self._stdin == self._stdout:
                with socket.socket(fileno=os.dup(self._stdin)) as end:
                    end.shutdown(socket.SHUT_WR)
            else:
                os.close(self._stdin)
            self._stdin = None

    def close_stdout(self) -> None:
        """Read nothing any more; what is still owed never comes."""
        if self._stdout is not None:
            os.close(self._stdout)
            self._stdin = None if self._stdin == self._stdout else self._stdin
            self._stdout = None
            self.whole = False

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send the daemon a signal."""
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.status, self.whole = -signal.SIGKILL, False

    def wait(self) -> int:
        """Read to the end of the output, wait for the daemon's, and give its status."""
        self.receive_until(lambda: self._stdout is None)
        return self.process.wait(SOON)

    def finish(self) -> None:
        """End the daemon in order where it lives, and look at all that it has said and left."""
        self.close_stdin()
        if self._stdout is not None:
            self.receive_until(lambda: self._stdout is None)
        status = self.process.wait(SOON)
        assert status in (self.status, *([status] if self.status is None else []))
        assert self.stderr == self.told_to_a_person
        assert bytes(self._rest) == b"" or not self.whole, "the last line is torn"
        assert broken_rules(self.log, whole=self.whole) == []
        assert broken_run_rules(self.log, whole=self.whole, gone=self._gone) == []

    def abandon(self) -> None:
        """Leave no descriptor and no process, whatever happened."""
        self.process.kill()
        self.process.wait()
        for end in {self._stdin, self._stdout} - {None}:
            with contextlib.suppress(OSError):
                os.close(end)  # type: ignore[arg-type]

    def _receive(self) -> None:
        assert self._stdout is not None
        try:
            data = os.read(self._stdout, _BLOCK)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            if self._stdin == self._stdout:
                self._stdin = None
            os.close(self._stdout)
            self._stdout = None
            return
        self._rest += data
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        for line in lines:
            self.log.append(Line(False, bytes(line)))
            self.told.append(decode(line))
