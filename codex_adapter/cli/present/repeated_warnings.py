"""Recognize a warning that repeats an earlier one, and fold it into a count (C19)."""

from __future__ import annotations

import re
from typing import Final, Generic, TypeVar

__all__ = ["Repeats"]

T = TypeVar("T")

_MOVING: Final = re.compile(
    r"\b[0-9]+/[0-9]+\b"
    r"|\b[0-9]+(?:\.[0-9]+)? ?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b[0-9a-f]{16,}(?:-[A-Z]{3})?\b"
    r"|\b(?:req|resp)_[0-9A-Za-z]+\b"
)
"""What differs between two reports of one trouble: the number of the attempt, a delay, the id of a request."""
_MOST_KNOWN: Final = 256
"""Texts that are remembered; those after them are shown each time."""


class Repeats(Generic[T]):
    """Remembers texts, each with a value.

    A text with a moving part, as `Reconnecting... 2/5`, repeats one that differs in nothing else, until anything else
    happens: what is tried again after some work is news. Any other text repeats an equal one of the whole run.
    """

    def __init__(self) -> None:
        self._of_run: dict[str, T] = {}
        self._of_stretch: dict[str, T] = {}

    def find(self, text: str) -> T | None:
        """Return the value of the text that this one repeats."""
        key = _MOVING.sub("#", text)
        return (self._of_run if key == text else self._of_stretch).get(key)

    def add(self, text: str, value: T) -> None:
        """Remember a text that repeats none."""
        if len(self._of_run) + len(self._of_stretch) < _MOST_KNOWN:
            key = _MOVING.sub("#", text)
            (self._of_run if key == text else self._of_stretch)[key] = value

    def interrupt(self) -> None:
        """Note that something else has happened."""
        self._of_stretch.clear()
