"""Remove what differs by machine, time and run from the output of the CLI."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["Stable"]

_PORT = re.compile(rb"127\.0\.0\.1:\d+")
_UUID = re.compile(rb"\b0[0-9a-f]{7}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_MADE_UP = b"01234567-89ab-7def-8123-456789abcdef"
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_WAITED = re.compile(rb"\bafter \d+(?:\.\d+)?(?:ms|s)\b")
_PAUSE = re.compile(rb"\b\d+(?:\.\d+)?(?:ms|s)\b")


class Stable:
    """The stable form of the runs of one case: a thread has the same id in all of them.

    Ids become 01900000-0000-7000-8000-000000000001 and on, in the order in which they come; directories `/scratch`;
    the port 8080; pauses in notices of errors, and what was waited for in vain, `1s`. All else is kept to the byte.
    """

    def __init__(self, root: Path) -> None:
        self._roots = sorted((str(root).encode(), str(root.resolve()).encode()), key=len, reverse=True)
        self._ids: dict[bytes, bytes] = {_MADE_UP: _MADE_UP}

    def form(self, stdout: bytes) -> bytes:
        """The stable form of some lines."""
        for root in self._roots:
            stdout = stdout.replace(root, b"/scratch")
        stdout = _UUID.sub(self._id, _PORT.sub(b"127.0.0.1:8080", stdout))
        return b"".join(_without_pauses(line) for line in _LINE.findall(stdout))

    def _id(self, found: re.Match[bytes]) -> bytes:
        made = b"01900000-0000-7000-8000-%012d" % len(self._ids)
        return self._ids.setdefault(found[0], made)


def _without_pauses(line: bytes) -> bytes:
    line = _WAITED.sub(b"after 1s", line)
    return _PAUSE.sub(b"1s", line) if line.startswith(b'{"type":"error"') else line
