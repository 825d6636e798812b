"""Messages out of the body of an HTTP response, in bounds (U11)."""

from __future__ import annotations

from typing import Protocol

from codex_adapter.spaces.mcp.errors import misunderstood
from codex_adapter.spaces.mcp.lines import LONGEST_LINE, Lines

__all__ = ["Body", "Events", "Whole"]


class Body(Protocol):
    """A way to find messages in bytes."""

    def take(self, data: bytes) -> list[bytes]:
        """The messages that `data` completes. Raises `ServerError` where it is too much."""

    def end(self) -> list[bytes]:
        """The messages that the end completes."""


class Whole:
    """The body is one message."""

    def __init__(self) -> None:
        self._data = bytearray()

    def take(self, data: bytes) -> list[bytes]:
        """As `Body.take`."""
        if len(self._data) + len(data) > LONGEST_LINE:
            raise misunderstood()
        self._data += data
        return []

    def end(self) -> list[bytes]:
        """As `Body.end`."""
        return [bytes(self._data)]


class Events:
    """The body is a stream of server-sent events, lines ending in LF or CR LF; the data of each is a message."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._data: list[bytes] = []
        self._length = 0

    def take(self, data: bytes) -> list[bytes]:
        """As `Body.take`."""
        messages = []
        for ended in self._lines.take(data):
            line = ended.removesuffix(b"\r")
            if line:
                self._add(line)
            else:
                messages.append(b"\n".join(self._data))
                self._data, self._length = [], 0
        return messages

    def end(self) -> list[bytes]:
        """As `Body.end`; an event that is not complete is none."""
        return []

    def _add(self, line: bytes) -> None:
        field, _, value = line.removeprefix(b"\xef\xbb\xbf").partition(b":")
        if field == b"data":
            self._length += len(line)
            if self._length > LONGEST_LINE:
                raise misunderstood()
            self._data.append(value.removeprefix(b" "))
