"""Undo the escapes of JSON, URLs, HTML, SQL, CSV and shells, and map positions back to the escaped bytes (X8).

One pass undoes every kind at once, at any nesting: a run of backslashes counts as one. Quotes and backslashes are
deleted, because each of these languages doubles, prefixes or splits them in its own way. A secret is converted to the
same form, so that both sides match.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

__all__ = ["Span", "Unescaped", "canonicalize", "has_escapes", "merge_spans"]

Span: TypeAlias = tuple[int, int]
"""The start and the end of some bytes."""

_HEX: Final = rb"[0-9a-fA-F]"
_ESCAPE: Final = re.compile(
    rb"\\++(?:u([dD][89abAB]%(h)b{2})\\++u([dD][c-fC-F]%(h)b{2})|u(%(h)b{4})|U(%(h)b{8})|u\{(%(h)b{1,8})\}"
    rb"|x(%(h)b{2})|([0-3][0-7]{2})|([nrtbfaveE]))?"
    rb"|%%(?:25)*(%(h)b{2})"
    rb"|&(?:amp;)*(?:#[xX](%(h)b{1,8});|#([0-9]{1,8});|([A-Za-z][A-Za-z0-9]{1,31});)"
    rb"|'\$(?=')|['\"]++" % {b"h": _HEX}
)
_SURROGATES, _BYTE, _OCTAL, _LETTER, _PERCENT, _DECIMAL, _NAMED = 2, 6, 7, 8, 9, 11, 12
_LETTERS: Final = dict(zip(b"nrtbfaveE", b"\n\r\t\b\f\a\v\x1b\x1b", strict=True))
_NAMES: Final = {
    **{
        b"amp": b"&",
        b"lt": b"<",
        b"gt": b">",
        b"quot": b'"',
        b"apos": b"'",
        b"nbsp": b" ",
        b"excl": b"!",
        b"num": b"#",
    },
    **{b"dollar": b"$", b"percnt": b"%", b"lpar": b"(", b"rpar": b")", b"ast": b"*", b"plus": b"+", b"comma": b","},
    **{b"hyphen": b"-", b"dash": b"-", b"period": b".", b"sol": b"/", b"colon": b":", b"semi": b";", b"equals": b"="},
    **{b"quest": b"?", b"commat": b"@", b"lsqb": b"[", b"lbrack": b"[", b"bsol": b"\\", b"rsqb": b"]", b"rbrack": b"]"},
    **{b"Hat": b"^", b"lowbar": b"_", b"grave": b"`", b"lcub": b"{", b"lbrace": b"{", b"verbar": b"|", b"vert": b"|"},
    **{b"rcub": b"}", b"rbrace": b"}", b"Tab": b"\t", b"NewLine": b"\n"},
}
"""Entities of signs. A secret needs no entities of other characters."""
_MARKS: Final = (b"\\", b"%", b"&", b"'", b'"')


class Unescaped:
    """The bytes without escapes, and the number of escapes."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.data, self.count = _ESCAPE.subn(_undo, source)

    @cached_property
    def _changes(self) -> tuple[list[Span], list[Span]]:
        """The place of each escape in the source and in the result. It is computed late: few texts have a match."""
        sources: list[Span] = []
        results: list[Span] = []
        end = length = 0
        for match in _ESCAPE.finditer(self._source):
            start, stop = match.span()
            length += start - end
            sources.append((start, stop))
            results.append((length, length + len(_undo(match))))
            length = results[-1][1]
            end = stop
        return sources, results

    def source(self, start: int, end: int, *, outwards: bool = False) -> Span:
        """Return where the bytes from `start` to `end` are in the source.

        `outwards` adds the deleted bytes next to them. Without it, only backslashes before a sign are added.
        """
        return self._start(start, outwards=outwards), self._end(end, outwards=outwards)

    def _start(self, place: int, *, outwards: bool) -> int:
        sources, results = self._changes
        at = bisect_right(results, (place, len(self.data) + 1)) - 1
        if at < 0:
            return place
        if results[at][1] > place:
            return sources[at][0]
        found = place + sources[at][1] - results[at][1]
        sign = not self.data[place : place + 1].isalnum()
        while at >= 0 and results[at] == (place, place) and sources[at][1] == found:
            if not outwards and not (sign and self._source[found - 1 : found] == b"\\"):
                break
            found = sources[at][0]
            at -= 1
        return found

    def _end(self, place: int, *, outwards: bool) -> int:
        sources, results = self._changes
        at = bisect_right(results, (place - 1, len(self.data) + 1)) - 1
        if at < 0:
            found = place
        elif results[at][1] > place - 1:
            found = sources[at][1]
        else:
            found = place + sources[at][1] - results[at][1]
        at += 1
        while outwards and at < len(results) and results[at] == (place, place):
            found = sources[at][1]
            at += 1
        return found


def has_escapes(data: bytes) -> bool:
    """Return whether `Unescaped` could change anything."""
    return any(mark in data for mark in _MARKS)


def canonicalize(value: bytes) -> bytes:
    """Return a secret with all of its escapes undone."""
    while (shorter := _ESCAPE.sub(_undo, value)) != value:
        value = shorter
    return value


def merge_spans(spans: list[Span]) -> list[Span]:
    """Return the spans in order, with overlapping spans joined."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _undo(escape: re.Match[bytes]) -> bytes:
    kind = escape.lastindex
    return b"" if kind is None else _plain(kind, escape[kind], escape[1] or b"", escape[0])


@lru_cache(4_096)
def _plain(kind: int, text: bytes, before: bytes, escape: bytes) -> bytes:
    if kind == _LETTER:
        return bytes((_LETTERS[text[0]],))
    if kind in (_BYTE, _PERCENT):
        return bytes((int(text, 16),))
    if kind == _OCTAL:
        return bytes((int(text, 8),))
    if kind == _SURROGATES:
        return bytes.fromhex((before + text).decode()).decode("utf-16-be", "replace").encode()
    if kind == _NAMED:
        return _NAMES.get(text, escape)
    code = int(text, 10 if kind == _DECIMAL else 16)
    return chr(code).encode(errors="replace") if code < 0x110000 else b"?"
