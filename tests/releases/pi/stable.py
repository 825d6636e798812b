"""Remove what differs by machine, time and run from the output of pi."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["Stable"]

_PORT = re.compile(rb"127\.0\.0\.1:\d{2,}")
_UUID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b")
_TIME = re.compile(rb"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_SESSION = re.compile(rb"/--[^/\"]*--/20\d\d-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_")
_ENTRY = re.compile(rb'"((?:parent|target)Id|id)":"([0-9a-f]{8})"')
_INSTANT = re.compile(rb'"timestamp":\d{13}\b')
_DATE = re.compile(rb"Current date: 20\d\d-\d\d-\d\d")
_LOG = re.compile(rb"/pi-bash-[0-9a-f]+\.log")
_PACKAGE = re.compile(rb"(?:/[\w.@+-]+)+/node_modules/@earendil-works/")
# The temporary directory that the adapter makes for a run.
_OWN = re.compile(rb"(?:/[\w.-]+)*/codex-adapter-\d[0-9a-f-]*")


class Stable:
    """The stable form of the runs of one case: a session has the same id in all of them.

    Ids become 00000000-0000-7000-8000-000000000001 and on, in the order in which they appear. Directories become
    `/scratch`, the port 8080, and times a fixed time. All else is kept to the byte.
    """

    def __init__(self, root: Path) -> None:
        self._roots = [text.encode() for text in sorted({str(root), str(root.resolve())}, key=len, reverse=True)]
        self._ids: dict[bytes, bytes] = {}
        self._entries: dict[bytes, bytes] = {}

    def form(self, stdout: bytes) -> bytes:
        """Return the stable form of some lines."""
        stdout = _PACKAGE.sub(b"/opt/node_modules/@earendil-works/", stdout)
        for text in self._roots:
            stdout = stdout.replace(text, b"/scratch")
        stdout = _UUID.sub(self._id, _PORT.sub(b"127.0.0.1:8080", stdout))
        stdout = _INSTANT.sub(b'"timestamp":1767225600000', _TIME.sub(b"2026-01-01T00:00:00.000Z", stdout))
        stdout = _LOG.sub(b"/pi-bash-1.log", _DATE.sub(b"Current date: 2026-01-01", stdout))
        stdout = _ENTRY.sub(self._entry, stdout)
        stdout = _SESSION.sub(b"/--scratch-workspace--/2026-01-01T00-00-00-000Z_", stdout)
        return _OWN.sub(b"/scratch/own", stdout)

    def _entry(self, found: re.Match[bytes]) -> bytes:
        return b'"%b":"%b"' % (found[1], self._entries.setdefault(found[2], b"%08d" % (len(self._entries) + 1)))

    def _id(self, found: re.Match[bytes]) -> bytes:
        return self._ids.setdefault(found[0], b"00000000-0000-7000-8000-%012d" % (len(self._ids) + 1))
