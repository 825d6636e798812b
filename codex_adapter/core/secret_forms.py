"""The forms in which the run's own secrets travel: as they are, escaped for JSON or a URL, in base64, in hex (X5).

Everything here is about bytes of UTF-8, for that is what is encoded.
"""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

__all__ = ["MASK", "SecretForms"]

MASK: Final = "***"

_Span: TypeAlias = tuple[int, int]

_DEPTH: Final = 4
"""How often a text is taken to be escaped, one within the other: a URL in JSON in the JSON text of a tool's result."""
_MOST_ESCAPES: Final = 200_000
"""More would hold everything else up for a second and longer."""
_MOST_BYTES_ESCAPED: Final = 16
"""Of one byte of a secret, escaped so often."""
_ALPHANUMERIC = re.compile(rb"[A-Za-z0-9]+")
# What counts as a long token of a text.
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{16,}")
_ENCODED = re.compile(rb"[A-Za-z0-9_+/-]{8,}={0,2}")
# Letters and digits that are escaped without need.
_ESCAPED_FOR_URL = re.compile(rb"%(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])")
_ESCAPED_FOR_JSON = re.compile(rb"\\(?:u00|x)(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])")


class _Escape(NamedTuple):
    """A way to write characters: the byte that each escape begins with, what one is, and what it stands for."""

    mark: bytes
    pattern: re.Pattern[bytes]
    plain: Callable[[re.Match[bytes]], bytes]


def _from_json(escape: re.Match[bytes]) -> bytes:
    digits = escape[1] or escape[2]
    if escape[1] is not None:
        return bytes.fromhex(digits.replace(b"\\u", b"").decode()).decode("utf-16-be", "replace").encode()
    if escape[2] is not None:
        return bytes.fromhex(digits.decode())
    return _SHORT_ESCAPES.get(escape[3], escape[3])


_SHORT_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_ESCAPES: Final = (
    _Escape(
        b"\\",
        re.compile(
            rb"(?s)\\(?:u([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4})"
            rb"|x([0-9a-fA-F]{2})|(.))"
        ),
        _from_json,
    ),
    _Escape(b"%", re.compile(rb"%([0-9a-fA-F]{2})"), lambda escape: bytes.fromhex(escape[1].decode())),
)


class SecretForms:
    """Some secrets, and how to find each in all of its forms.

    In base64 and hex the whole unbroken word that has the secret in it goes, since its other characters may tell of
    the secret's first and last; of base64 that is every place at which the secret may begin, in both alphabets.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        values = {secret.encode("utf-8", "surrogateescape") for secret in secrets}
        # A space may be a plus in a URL.
        self._plain = sorted(values | {value.replace(b" ", b"+") for value in values}, key=len, reverse=True)
        self._encoded = tuple({form for value in values for form in _encoded(value)})
        self.longest = max(map(len, self._plain), default=0) * _MOST_BYTES_ESCAPED
        # What is looked for in long tokens alone costs next to nothing, for ordinary text has few.
        self._in_tokens: list[bytes] = []
        self._anywhere: list[str] = []
        for form in (*self._plain, *self._encoded):
            token = max(_TOKEN.findall(form), key=len, default=None)
            if token is None:
                self._anywhere.append(form.decode("utf-8", "surrogateescape"))
            else:
                self._in_tokens.append(token)
        self._in_tokens.sort(key=len)
        # Of a secret with escapes in it, letters and digits stay as they are where these are not escaped too.
        self._anchors = {max(_ALPHANUMERIC.findall(form), key=len, default=b"") for form in self._plain}

    def may_be_in(self, window: str, encoded: bytes, tokens: list[bytes]) -> bool:
        """Whether a secret could be in a text, given its bytes and its long tokens: never a wrong 'no'."""
        for literal in self._anywhere:
            if literal in window:
                return True
        if tokens:
            joined = b" ".join(tokens)
            for token in self._in_tokens:
                if len(token) > len(joined):
                    break
                if token in joined:
                    return True
        return self._may_be_escaped(encoded)

    def masked(self, text: str) -> str:
        """The text with `***` in the place of every secret. Raises ValueError when that would take too long (X7)."""
        data = text.encode()
        escaped = self._may_be_escaped(data)
        if escaped and sum(data.count(escape.mark) for escape in _ESCAPES) > _MOST_ESCAPES:
            raise ValueError("too many escapes")
        spans = self._spans(data, _DEPTH if escaped else 0)
        if any(form in data for form in self._encoded):
            spans += [word.span() for word in _ENCODED.finditer(data) if any(form in word[0] for form in self._encoded)]
        out: list[bytes] = []
        end = 0
        for start, stop in _merged(spans):
            out += data[end:start], MASK.encode()
            end = stop
        return b"".join((*out, data[end:])).decode()

    def _may_be_escaped(self, data: bytes) -> bool:
        percent, backslash = b"%" in data, b"\\" in data
        if not (self._anchors and (percent or backslash)):
            return False
        return (
            any(anchor in data for anchor in self._anchors)
            or (percent and _ESCAPED_FOR_URL.search(data) is not None)
            or (backslash and _ESCAPED_FOR_JSON.search(data) is not None)
        )

    def _spans(self, data: bytes, depth: int) -> list[_Span]:
        """Where secrets are in `data` as they are, or escaped up to `depth` times."""
        spans = [span for secret in self._plain for span in _places(secret, data)]
        for escape in _ESCAPES if depth else ():
            if escape.mark in data:
                inner = self._spans(escape.pattern.sub(escape.plain, data), depth - 1)
                if inner:
                    spans += _unmapped(data, escape, _merged(inner))
        return spans


def _encoded(value: bytes) -> Iterator[bytes]:
    yield value.hex().encode()
    yield value.hex().upper().encode()
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):
            # Only the characters that depend on the value alone.
            yield encode(bytes(before) + value)[-(-before * 8 // 6) : (before + len(value)) * 8 // 6]


def _places(secret: bytes, data: bytes) -> Iterator[_Span]:
    start = data.find(secret)
    while start >= 0:
        end = start + len(secret)
        yield start, end
        start = data.find(secret, end)


def _merged(spans: list[_Span]) -> list[_Span]:
    """The spans in order, those that overlap as one."""
    merged: list[_Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _unmapped(data: bytes, escape: _Escape, spans: list[_Span]) -> list[_Span]:
    """Where in `data` the spans are that were found in it without its escapes; they are in order and apart."""
    edges = [edge for span in spans for edge in span]
    found: list[int] = []
    shift = 0
    for match in escape.pattern.finditer(data):
        if len(found) == len(edges):
            break
        start, end = match.span()
        first = start - shift
        last = first + len(escape.plain(match))
        while len(found) < len(edges):
            edge, is_end = edges[len(found)], len(found) % 2
            # An end stands behind its last byte, so it belongs to what is before it.
            if edge - is_end < first:
                found.append(edge + shift)
            elif edge - is_end < last:
                found.append(end if is_end else start)
            else:
                break
        shift = end - last
    found += [edge + shift for edge in edges[len(found) :]]
    return list(zip(found[::2], found[1::2], strict=True))
