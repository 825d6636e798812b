"""Model the possible completions of a run from what happened around it, without code of the product.

Times in the model are run time: seconds since the start, without the time in which the run did not read from the agent
because the consumer had not received the events.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ..agents.agent_lines import AgentLines, Fact, Shape
from .piped import Seen
from .schedules import Plan, failure_text

__all__ = [
    "END_OF_OUTPUT",
    "EPSILON",
    "LINGERING",
    "Due",
    "Facts",
    "Limits",
    "facts_of",
]

LINGERING: Final = "the agent lives on after its turn"
END_OF_OUTPUT: Final = "the output is held open after the exit"
EPSILON: Final = 1e-6


Reader = Callable[[dict[str, Any]], Sequence[Fact]]
"""A function that returns what each line of a stream means."""


class Due(NamedTuple):
    """A limit that passes at a time; `must` when the rules leave no doubt that it counts."""

    at: float
    why: str
    must: bool


class Facts:
    """What lines say of a run's session and turns."""

    def __init__(self, lines: AgentLines, reader: Reader | None = None) -> None:
        self._lines = lines
        self._reader = reader or lines.reader()
        self.shapes: list[Shape] = []
        self.session: str | None = None
        self.turn: str | None = None
        self.text: str | None = None
        self.usage: dict[str, int] | None = None
        self.opened: set[str] = set()
        self.closed: set[str] = set()
        self.progress = False

    def read(self, line: bytes) -> None:
        """Take in one line."""
        if not line.strip():
            return
        try:
            value = json.loads(line)
            kind = value["type"]
        except (ValueError, TypeError):
            self.shapes.append(("error", f"{self._lines.kind} stream parse error (redacted)"))
            return
        if kind == 7:
            self.shapes.append(("error", f"{self._lines.kind} stream normalize error (redacted)"))
        elif kind == "tomorrow":
            self.progress = True
            self.shapes.append(("unknown", None))
        else:
            self.shapes += [self._shape(*fact) for fact in self._reader(value)]

    def _shape(self, name: str, value: Any) -> Shape:
        if name == "trouble":
            return self._lines.trouble_shape
        self.progress = True
        match name:
            case "message":
                self.text = value
                return "text_output", value
            case "opened":
                self.opened.add(value)
                return "tool_call", None
            case "closed":
                self.closed.add(value)
                return "tool_result", None
            case "session":
                self.session = self.session or value
                return self._lines.session_shape
            case "turn":
                self.turn = "cut_off"
            case "failed":
                self.turn = "failed"
                return "status", "turn failed"
            case "completed":
                self.turn, self.usage = "completed", value
        return "status", None


def facts_of(lines: AgentLines, data: bytes, *, with_torn_line: bool) -> Facts:
    """What all of these bytes say."""
    facts = Facts(lines)
    *whole, torn = data.split(b"\n")
    for line in whole:
        facts.read(line)
    if with_torn_line:
        facts.read(torn)
    return facts


class Limits:
    """What was due when, from the beginning to the moment at which the run began to be ended."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._reader = plan.lines.reader()
        self._data = b""
        self._tools: dict[str, float] = {}
        self._stale = False  # tools that a turn has left open: nothing says whether they still are
        self._turn_ended: list[float] = []
        self._progress = 0.0
        self._eof = self._exit = math.inf
        self._since = 0.0
        self._spans: list[tuple[float, float, list[Due]]] = []

    def see(self, seen: Seen, now: float) -> None:
        """Something happened at this run time."""
        self._spans.append((self._since, now, list(self._due())))
        self._since = now
        if seen.what == "gave":
            self._read(seen.detail, now)
        elif seen.what == "eof":
            self._read(b"\n", now)
            self._eof = min(self._eof, now)
        elif seen.what in ("broke", "close_output"):
            self._eof = min(self._eof, now)
        elif seen.what in ("reaped", "lost"):
            self._exit = min(self._exit, now)

    @property
    def due(self) -> set[str]:
        """Why the run may be ended now."""
        now = self._since + EPSILON
        return {due.why for _, end, dues in self._spans if end > now - 2 * EPSILON for due in dues if due.at < now}

    @property
    def missed(self) -> list[Due]:
        """What has passed and was not acted upon."""
        return [
            due for start, end, dues in self._spans for due in dues if due.must and max(due.at, start) < end - EPSILON
        ]

    def _read(self, data: bytes, now: float) -> None:
        unfinished = self._data[self._data.rfind(b"\n") + 1 :]
        self._data += data
        for line in (unfinished + data).split(b"\n")[:-1]:
            said = Facts(self._plan.lines, self._reader)
            said.read(line)
            if said.turn == "cut_off":
                self._turn_ended = []
            elif said.turn is not None:
                self._turn_ended.append(now)
                self._stale = True
            self._tools = {**dict.fromkeys(said.opened, now), **self._tools}
            for tool in said.closed:
                self._tools.pop(tool, None)
            self._stale = self._stale and bool(self._tools)
            if said.progress:
                self._progress = now

    def _due(self) -> Iterator[Due]:
        config, ended, kind = self._plan.config, bool(self._turn_ended), self._plan.lines.kind
        timeout = failure_text(self._plan.lines, "timeout")
        living = self._exit == math.inf
        if self._plan.timeout is not None and (living or self._eof == math.inf):
            yield Due(self._plan.timeout, timeout, living)
        if not living:
            if self._eof == math.inf:
                yield Due(self._exit + config.descendant_grace, END_OF_OUTPUT, True)
            return
        plain = not ended and self._eof == math.inf and not self._stale
        if config.idle_timeout is not None and not (self._tools and plain):
            text = f"{kind} stream idle timeout: {config.idle_timeout:g}s"
            yield Due(self._progress + config.idle_timeout, text, plain)
        if config.tool_timeout is not None and self._tools:
            yield Due(min(self._tools.values()) + config.tool_timeout, timeout, plain)
        for place, at in enumerate(self._turn_ended, 1):
            yield Due(at + config.exit_grace, LINGERING, place == len(self._turn_ended))
        if self._eof < math.inf and not ended:
            yield Due(self._eof + config.exit_grace, f"{kind} stream closed unexpectedly", True)
