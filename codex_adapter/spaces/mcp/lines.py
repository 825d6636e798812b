"""Lines out of a server's bytes, in bounds (U11)."""

from __future__ import annotations

from typing import Final

from codex_adapter.spaces.mcp.errors import misunderstood

__all__ = ["LONGEST_LINE", "MOST_BYTES", "MOST_LINES", "Lines"]

LONGEST_LINE: Final = 4 * 1024 * 1024
MOST_BYTES: Final = 64 * 1024 * 1024
MOST_LINES: Final = 100_000
"""All that a server may say, with its notifications and log lines."""


class Lines:
    """Cuts at newlines."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._bytes = 0
        self._lines = 0

    def take(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their newlines. Raises `ServerError` where it is too much."""
        first, *others = data.split(b"\n")
        self._bytes += len(data)
        self._lines += len(others)
        too_many = self._bytes > MOST_BYTES or self._lines > MOST_LINES
        if too_many or len(self._begun) + len(first) > LONGEST_LINE:
            raise misunderstood()
        self._begun += first
        if not others:
            return []
        lines = [bytes(self._begun), *others[:-1]]
        self._begun = bytearray(others[-1])
        return lines
