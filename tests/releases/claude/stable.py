"""Remove what differs by machine, time and run from the output of Claude Code."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["Stable"]

_PORT = re.compile(rb"127\.0\.0\.1:\d{2,}")
_UUID = re.compile(rb"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b")
_MADE_UP = b"11111111-1111-4111-8111-111111111111"
_TIME = re.compile(rb"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_DURATION = re.compile(rb'"(\w*(?:_ms|Ms|_seconds|Seconds))":\d+(?:\.\d+)?')
_SPENT = re.compile(rb"duration_ms: \d+")
_SOCKET = re.compile(rb"cc-socks/\d+\.sock")
_RUN = re.compile(rb'"(run_?[iI]d)":"\w+-[0-9a-f]+"')
_INSTANT = re.compile(rb'"(\w+_time)":\d{13}\b')
# A repository around the workspace gives its name to the project.
_PROJECT = re.compile(rb"projects/-[^/\"]*/memory")
# The temporary directory that the adapter makes for a run.
_OWN = re.compile(rb"(?:/[\w.-]+)*/codex-adapter-\d[0-9a-f-]*")
_AGENT = re.compile(rb'\b(agentId|agent_id|task_id)(": ?"|: )([0-9a-z]{6,20})\b')


class Stable:
    """The stable form of the runs of one case: a session has the same id in all of them.

    Ids become 00000000-0000-4000-8000-000000000001 and on, in the order in which they appear. Directories become
    `/scratch`, the port 8080, times a fixed time, and durations 1. All else is kept to the byte.
    """

    def __init__(self, root: Path) -> None:
        roots = sorted({str(root), str(root.resolve())}, key=len, reverse=True)
        # The CLI names the folder of a project after its directory.
        named = [re.sub(r"[^A-Za-z0-9]", "-", text) for text in roots]
        self._roots = [(text.encode(), b"/scratch") for text in roots]
        self._roots += [(text.encode(), b"-scratch") for text in named]
        self._ids: dict[bytes, bytes] = {_MADE_UP: _MADE_UP}
        self._agents: dict[bytes, bytes] = {}

    def form(self, stdout: bytes) -> bytes:
        """Return the stable form of some lines."""
        for text, plain in self._roots:
            stdout = stdout.replace(text, plain)
        stdout = _UUID.sub(self._id, _PORT.sub(b"127.0.0.1:8080", stdout))
        stdout = _TIME.sub(b"2026-01-01T00:00:00.000Z", stdout)
        stdout = _SOCKET.sub(b"cc-socks/1.sock", _DURATION.sub(rb'"\1":1', stdout))
        stdout = _SPENT.sub(b"duration_ms: 1", stdout)
        stdout = _INSTANT.sub(rb'"\1":1', _RUN.sub(rb'"\1":"1"', stdout))
        stdout = _PROJECT.sub(b"projects/-scratch-workspace/memory", stdout)
        stdout = _OWN.sub(b"/scratch/own", stdout)
        for agent in dict.fromkeys(found[3] for found in _AGENT.finditer(stdout)):
            name = self._agents.setdefault(agent, b"a%015d" % (len(self._agents) + 1))
            stdout = re.sub(rb"\b%s\b" % agent, name, stdout)
        return stdout

    def _id(self, found: re.Match[bytes]) -> bytes:
        made = b"00000000-0000-4000-8000-%012d" % len(self._ids)
        return self._ids.setdefault(found[0], made)
