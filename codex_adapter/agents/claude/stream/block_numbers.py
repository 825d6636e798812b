"""Number the blocks of each answer: the CLI prints a line for each block, and does not number them (M2)."""

from __future__ import annotations

from typing import Final

__all__ = ["BlockNumbers"]

_MOST_THREADS: Final = 64


class BlockNumbers:
    """The current answer of each thread and its number of blocks. A thread is the call that started a sub-agent."""

    __slots__ = ("_answers",)

    def __init__(self) -> None:
        self._answers: dict[str | None, tuple[str, int]] = {}

    def begin(self, thread: str | None, message_id: str) -> None:
        """Begin an answer, before its first block."""
        self._answers[thread] = (message_id, 0)

    def current(self, thread: str | None) -> str:
        """Return the id of the current answer, empty if it is unknown."""
        return self._answers.get(thread, ("", 0))[0]

    def next(self, thread: str | None, message_id: str) -> int:
        """Return the number of the next block of an answer, from 0."""
        seen, number = self._answers.get(thread, ("", 0))
        if seen != message_id:
            number = 0
            if len(self._answers) >= _MOST_THREADS and thread not in self._answers:
                self._answers.clear()
        self._answers[thread] = (message_id, number + 1)
        return number
