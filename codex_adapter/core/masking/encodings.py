"""Decode base64, hexadecimal digits and dumps anywhere in a text, and map positions back to the text (X8).

A whole text is decoded at once, without the characters outside of the alphabet, at each offset that a word may have. So
line ends, indents and separators within a word do not matter, and neither does the place where a word begins.
"""

from __future__ import annotations

import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from codex_adapter.core.masking.escapes import Span

__all__ = ["Decoded", "Dump", "Readable", "decode_all", "read_dumps", "widen_to_words"]

_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_HEX: Final = b"0123456789abcdefABCDEF"
_NOT_BASE64: Final = bytes(set(range(256)) - set(_BASE64))
_NOT_HEX: Final = bytes(set(range(256)) - set(_HEX))
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_BASE64_RUN: Final = re.compile(rb"[A-Za-z0-9+/_-]+")
_HEX_RUN: Final = re.compile(rb"[0-9a-fA-F]+")
_READABLE: Final = re.compile(rb"[\t\n\r\x20-\x7e]{8,}")
_SHORTEST: Final = 10
_PIECE: Final = 4_096

# A line of xxd, hexdump or od: an offset, groups of two or four digits, and the bytes as text.
_DUMP_LINE: Final = re.compile(
    rb"(?<![0-9a-fA-F])(?:(?P<offset>[0-9a-fA-F]{5,16}:?[ \t]{1,2}))?"
    rb"((?:(?(offset)[0-9a-fA-F]{2}|(?!))[ \t]{1,3}+){1,15}+(?:[0-9a-fA-F]{2}(?![0-9a-fA-F]))?"
    rb"|(?:[0-9a-fA-F]{4} {1,2}+){1,7}+(?:[0-9a-fA-F]{2}){0,2}(?![0-9a-fA-F]))"
    rb"[^\n]*"
)


class Decoded(NamedTuple):
    """Decoded bytes and the way back to the text: the bits of each character, and the number of padding characters."""

    data: bytes
    text: bytes
    run: re.Pattern[bytes]
    bits: int
    skipped: int

    def source(self, spans: list[Span]) -> Iterator[Span]:
        """Yield where these bytes are in the text. A span may miss the ends of its words."""
        runs = [match.span() for match in self.run.finditer(self.text)] if spans else []
        counts: list[int] = []
        count = 0
        for start, end in runs:
            counts.append(count)
            count += end - start
        for start, end in spans:
            first = max(8 * start // self.bits - self.skipped, 0)
            last = max(first, min((8 * end - 1) // self.bits - self.skipped, count - 1))
            yield _place(runs, counts, first), _place(runs, counts, last) + 1


def _place(runs: list[Span], counts: list[int], number: int) -> int:
    at = bisect_right(counts, number) - 1
    return runs[at][0] + number - counts[at]


def decode_all(text: bytes) -> Iterator[Decoded]:
    """Decode all base64 and all hexadecimal digits of a text, at each offset."""
    kept = text.translate(_STANDARD, _NOT_BASE64)
    if len(kept) >= _SHORTEST:
        for skipped in range(4):
            # `A` is the padding: it encodes zeros.
            padded = b"A" * skipped + kept
            data = b64decode(padded + b"A" * (-len(padded) % 4))
            yield Decoded(data, text, _BASE64_RUN, 6, skipped)
    kept = text.translate(None, _NOT_HEX)
    if len(kept) >= _SHORTEST:
        for skipped in range(2):
            digits = b"0" * skipped + kept
            yield Decoded(bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode()), text, _HEX_RUN, 4, skipped)


class Readable:
    """The readable parts of decoded bytes, as lines. They may be encoded again."""

    def __init__(self, data: bytes) -> None:
        parts = [match.span() for match in _READABLE.finditer(data)]
        self.data = b"\n".join([data[start:end] for start, end in parts])
        self._starts = [start for start, _ in parts]
        self._counts: list[int] = []
        count = 0
        for start, end in parts:
            self._counts.append(count)
            count += end - start + 1

    def source(self, start: int, end: int) -> Span:
        """Return where these bytes are in the decoded bytes."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, number: int) -> int:
        at = bisect_right(self._counts, number) - 1
        return self._starts[at] + number - self._counts[at]


class Dump(NamedTuple):
    """The bytes of a dump. `counts` has the number of each line's first byte, `lines` where each line is."""

    data: bytes
    counts: list[int]
    lines: list[Span]

    def source(self, start: int, end: int) -> Span:
        """Return the whole lines of these bytes, because the lines show the bytes as text too."""
        first, last = bisect_right(self.counts, start) - 1, bisect_right(self.counts, end - 1) - 1
        return self.lines[first][0], self.lines[last][1]


def read_dumps(text: bytes) -> Iterator[Dump]:
    """Read the lines of dumps in a text. Yield them also with each two bytes swapped, as od and hexdump print them."""
    pieces: list[bytes] = []
    counts: list[int] = []
    lines: list[Span] = []
    count = 0
    for match in _DUMP_LINE.finditer(text):
        digits = match[2].translate(None, b" \t")
        piece = bytes.fromhex(digits[: len(digits) & ~1].decode())
        pieces.append(piece)
        counts.append(count)
        lines.append(match.span())
        count += len(piece)
    if count:
        yield Dump(b"".join(pieces), counts, lines)
        yield Dump(b"".join(map(_swap_pairs, pieces)), counts, lines)


def _swap_pairs(piece: bytes) -> bytes:
    swapped = bytearray(piece)
    even = len(piece) & ~1
    swapped[0:even:2], swapped[1:even:2] = piece[1:even:2], piece[0:even:2]
    return bytes(swapped)


def widen_to_words(data: bytes, spans: list[Span]) -> list[Span]:
    """Widen each span to whole words of base64, because the first and last characters hold bits of the secret."""
    found: list[Span] = []
    behind = 0
    for start, end in sorted(spans):
        if end > behind:
            first, behind = _word_start(data, start, min(behind, start)), _word_end(data, end)
            found.append((first, behind))
    return found


def _word_start(data: bytes, place: int, least: int) -> int:
    while place > least:
        piece = data[max(least, place - _PIECE) : place]
        left = len(piece.rstrip(_BASE64))
        place -= len(piece) - left
        if left:
            break
    return place


def _word_end(data: bytes, place: int) -> int:
    while place < len(data):
        piece = data[place : place + _PIECE]
        left = len(piece.lstrip(_BASE64))
        place += len(piece) - left
        if left:
            break
    while data[place : place + 1] == b"=":
        place += 1
    return place
