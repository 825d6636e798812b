"""Read a recorded stream as typed thread events with line numbers, without an event loop (P4)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from codex_adapter.agents.codex.stream.context import Context
from codex_adapter.agents.codex.stream.line_parser import parse_lines
from codex_adapter.agents.codex.stream.lines import ThreadEvent
from codex_adapter.core.bad_lines import BadLine
from codex_adapter.core.framing import Line, LineFramer

__all__ = ["NumberedLine", "read_thread_events"]

_READ_SIZE: Final = 65_536
_MAX_LINE_BYTES: Final = 16 * 1024 * 1024


class NumberedLine(msgspec.Struct, frozen=True):
    """One line of a recording: its event, and its number. The count begins at 1 and skips blank lines."""

    number: int
    event: ThreadEvent | BadLine


def read_thread_events(path: str | os.PathLike[str]) -> Iterator[NumberedLine]:
    """Yield the thread events of a file of `codex exec --json` output, one at a time (T1 to T5).

    A line that is not a thread event is a `BadLine`. Raise OSError if the file cannot be read.
    """
    framer, context = LineFramer(_MAX_LINE_BYTES), Context()

    def reads() -> Iterator[list[Line]]:
        with Path(path).open("rb") as file:
            while data := file.read(_READ_SIZE):
                yield framer.receive_data(data)
        yield framer.receive_eof()

    events = chain.from_iterable(map(parse_lines, reads()))
    for number, event in enumerate(events, 1):
        if not isinstance(event, BadLine):
            context.place(event)
        yield NumberedLine(number, event)
