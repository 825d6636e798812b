"""Find the cause of a failure in the end of an agent's stderr (F9, S7)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from codex_adapter.hints import Hint

__all__ = ["StderrTail"]

_TAIL: Final = 16_384
"""Bytes at the end of stderr that are examined: the last message, and a backtrace after it."""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_NO_PHRASES: Final[Mapping[bytes, Hint]] = MappingProxyType({})


class StderrTail:
    """The end of an agent's stderr: bounded, and never shown (S7, X1).

    `lines` are patterns for lines of the CLI itself. The last line that matches one counts. `missing` are phrases for a
    session that does not exist. They count anywhere, as do `phrases`, if no line matches.
    """

    __slots__ = ("_end", "_lines", "_longest", "_missing", "_phrase", "_phrases", "session_missing")

    def __init__(
        self,
        lines: Sequence[tuple[str, Hint]],
        missing: Sequence[bytes],
        phrases: Mapping[bytes, Hint] = _NO_PHRASES,
    ) -> None:
        self._lines = lines
        self._missing = missing
        self._phrases = phrases
        self._longest = max(map(len, (*missing, *phrases)))
        self._end = b""
        self._phrase: Hint | None = None
        self.session_missing = False
        """Whether the agent reported anywhere on stderr that the requested session does not exist (S9)."""

    def receive(self, data: bytes) -> None:
        """Receive the next bytes."""
        around = self._end[-self._longest :] + data
        self.session_missing |= any(phrase in around for phrase in self._missing)
        for phrase, hint in self._phrases.items():
            if phrase in around:
                self._phrase = hint
        self._end = (self._end + data[-_TAIL:])[-_TAIL:]

    def take_hint(self) -> Hint | None:
        """Return the cause that the bytes report, and discard them (F9)."""
        end, self._end = self._end, b""
        # `re` compiles and caches the patterns when they are first needed, because most runs do not fail.
        for line in reversed(_COLOUR.sub("", end.decode("utf-8", "replace")).split("\n")):
            for pattern, hint in self._lines:
                if re.match(pattern, line):
                    return hint
        return self._phrase
