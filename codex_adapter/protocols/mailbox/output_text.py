"""Shorten the output of a command to its beginning and its end, for the next outbox (I10)."""

from __future__ import annotations

from typing import Final

from codex_adapter.workspace import Captured

__all__ = ["KEPT_BYTES", "output_text"]

_MOST: Final = 4000
KEPT_BYTES: Final = 8 * _MOST
"""The bytes to keep of each output, so that enough characters can be shown."""
_STDERR: Final = "[stderr]"


def output_text(stdout: Captured, stderr: Captured) -> str:
    """Return both outputs as one text with at most 4,000 characters of them (I10)."""
    out, err = _Text(stdout), _Text(stderr)
    half = _MOST // 2
    for_err = max(half, _MOST - out.length)
    for_out = max(half, _MOST - err.length)
    parts = [] if not out.length else [out.cut(for_out)]
    if err.length:
        parts += [_STDERR, err.cut(for_err)]
    return "\n".join(part.removesuffix("\n") for part in parts)


class _Text:
    """An output as characters. A byte that cannot be decoded counts as one character."""

    def __init__(self, captured: Captured) -> None:
        self._head = captured.head.decode(errors="surrogateescape")
        self._tail = captured.tail.decode(errors="surrogateescape")
        self._left_out = captured.left_out
        # If bytes are missing already, the length is only compared with the limit: any length over it is right.
        self.length = len(self._head) + len(self._tail) + (_MOST if captured.left_out else 0)

    def cut(self, most: int) -> str:
        """Return the text, or its beginning and its end with `most` characters together."""
        if self.length <= most:
            return _shown(self._head)
        half = most // 2
        tail = self._tail if self._left_out else self._head
        head, dropped = self._head[:half], self._head[half:]
        if self._left_out:
            dropped += tail[:-half]
        else:
            dropped = dropped[:-half]
        missing = self._left_out + len(dropped.encode(errors="surrogateescape"))
        return f"{_shown(head)}\n[... {missing} bytes left out ...]\n{_shown(tail[-half:])}"


def _shown(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="replace")
