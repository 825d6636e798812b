"""Find the secrets of a run in all of their forms: plain, escaped, encoded, dumped.

All functions here work on bytes of UTF-8, because encodings encode bytes (X5, X8).
"""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Final

from codex_adapter.core.masking.encodings import Readable, decode_all, read_dumps, widen_to_words
from codex_adapter.core.masking.escapes import Span, Unescaped, canonicalize, has_escapes, merge_spans
from codex_adapter.core.masking.needles import Needles

__all__ = ["MASK", "SecretForms", "Work"]

MASK: Final = "***"

_DEPTH: Final = 5
"""The limit of nested escapes in different languages."""
_MOST_BYTES_ESCAPED: Final = 16
"""The limit of bytes for one byte of a secret that is escaped or dumped."""
_SHORTEST_CANONICAL: Final = 7
"""A secret with fewer bytes after its escapes are undone would match everywhere."""
_LONG_WORD: Final = 16
_ENOUGH: Final = 24
"""The bytes of a secret that are enough to recognize its encoded forms."""
_WORK_OF_AN_ESCAPE: Final = 40
"""The cost of one escape, in bytes that are decoded in the same time."""
_TOKEN = re.compile(rb"[A-Za-z0-9_-]+")
_CHANGED_BY_QUOTING: Final = re.compile(rb"['\"\\]")
# Characters of tokens that are escaped without need, marks of other escapes, and characters of base64.
_NEEDLESS: Final = rb"(?:2[56Dd]|3[0-9]|[46][1-9A-Fa-f]|5[CcFf]|[57][0-9Aa])"
_PERCENT = re.compile(rb"%%(?:%b|2[BbFf](?<=[A-Za-z0-9]{4}%%2[BbFf]))" % _NEEDLESS)
_BACKSLASH = re.compile(
    rb"\\(?:[_-]|(?:u00|u\{0*|U0{6}|x)%b|0(?:4[56]|55|6[0-7]|7[01])|1[0-7]{2}|/(?<=[A-Za-z0-9+]\\/))" % _NEEDLESS
)
_ENTITY = re.compile(rb"&(?:#|amp;|lowbar|hyphen|dash|percnt|bsol|plus|sol)")
# Base64 or hexadecimal digits in lines of at least 16 characters. The line end comes first, because it is searched for.
_WRAPPED: Final = re.compile(rb"(?s)[\\\r\n](?<=[A-Za-z0-9+/=_-]{16}.)(?:(?<!\\)|[rn\\])")
_JSON_SIGN: Final = re.compile(rb"[\"\\\x00-\x1f]")
_JSON_SIGNS: Final = {
    b'"': b'\\"',
    b"\\": b"\\\\",
    b"\n": b"\\n",
    b"\r": b"\\r",
    b"\t": b"\\t",
    b"\b": b"\\b",
    b"\f": b"\\f",
}
_URL_SIGN: Final = re.compile(rb"[^A-Za-z0-9_.~-]")
_HTML_SIGN: Final = re.compile(rb"[&<>\"']")
_HTML_SIGNS: Final = {b"&": b"&amp;", b"<": b"&lt;", b">": b"&gt;", b'"': b"&quot;", b"'": b"&#x27;"}
_HEX_CLASSES: Final = bytes(
    ord("h") if chr(code) in "0123456789abcdefABCDEF" else ord(" ") if code in b" \t" else ord(".")
    for code in range(256)
)
_PAIRS, _QUADS = b"hh hh hh hh", b"hhhh hhhh"


class Work:
    """A counter of the cost of masking one text. It replaces a clock (X7)."""

    def __init__(self, most: int = 40_000_000) -> None:
        self._left = most

    def spend(self, amount: int) -> None:
        """Count this amount. Raise ValueError if the total is over the limit."""
        self._left -= amount
        if self._left < 0:
            raise ValueError("too much work")


class SecretForms:
    """Some secrets, and the search for all of their forms."""

    def __init__(self, secrets: Iterable[str]) -> None:
        values = {secret.encode("utf-8", "surrogateescape") for secret in secrets}
        # A URL may have a plus for a space.
        plain = values | {value.replace(b" ", b"+") for value in values}
        self._any = bool(values)
        self._canonical: dict[bytes, bool] = {}
        literal: set[bytes] = set()
        for value in plain:
            form = value if _TOKEN.fullmatch(value) else canonicalize(value)
            if len(form) < _SHORTEST_CANONICAL:
                literal |= {value, *_escape_forms(value)}
            else:
                at_the_edge = _CHANGED_BY_QUOTING.fullmatch(value[:1]) or _CHANGED_BY_QUOTING.fullmatch(value[-1:])
                self._canonical[form] = self._canonical.get(form, False) or at_the_edge is not None
        self._literal = Needles(literal | plain)
        self._unescaped = Needles(self._canonical)
        self._decodable = Needles(plain)
        self.longest = self._decodable.longest * _MOST_BYTES_ESCAPED
        # A search in long words is almost free, because ordinary text has few of them.
        self._tokens: set[bytes] = set()
        anywhere: set[bytes] = set(literal)
        if_escaped: set[bytes] = set()
        if_quoted: set[bytes] = set()
        for value in plain:
            token = max(_TOKEN.findall(value), key=len, default=b"")
            if len(token) >= _LONG_WORD:
                self._tokens.add(token)
                continue
            anywhere.add(value)
            if_escaped.add(token)
            if _CHANGED_BY_QUOTING.search(value):
                if_quoted.add(token)
        # The encoded form of a shorter secret may be a short word.
        self._long = [value for value in values if len(value) >= _LONG_WORD]
        anywhere.update(chain.from_iterable(_encode_forms(value) for value in values if len(value) < _LONG_WORD))
        self._anywhere = Needles(anywhere)
        self._if_escaped = Needles(if_escaped)
        self._if_quoted = Needles(if_quoted)

    @cached_property
    def _in_words(self) -> Needles:
        """The forms to search for in long words. They are made late, because many runs have no long word."""
        return Needles(chain(self._tokens, chain.from_iterable(map(_encode_forms, self._long))))

    def may_be_in(self, data: bytes, words: bytes) -> bool:
        """Return whether a secret could be in a text of these bytes and long words. It is never wrongly False."""
        if not self._any:
            return False
        if (words and (self._in_words.may_be_in(words) or _WRAPPED.search(words))) or self._anywhere.may_be_in(data):
            return True
        return self._may_be_escaped(data) or _may_be_dumped(data)

    def spans(self, data: bytes, work: Work) -> tuple[list[Span], list[Span]]:
        """Return where secrets are in `data`, and separately where they are within encoded words.

        The second list has only a part of each word. Raise ValueError if the search takes too long (X7).
        """
        found = self._literal.places(data)
        if has_escapes(data):
            found += self._escaped_spans(data, _DEPTH, work)
        return found, self._in_encodings(data, work)

    def _may_be_escaped(self, data: bytes) -> bool:
        percent, backslash, entity = b"%" in data, b"\\" in data, b"&" in data
        return (
            ((percent or backslash or entity) and self._if_escaped.may_be_in(data))
            or (percent and _PERCENT.search(data) is not None)
            or (backslash and _BACKSLASH.search(data) is not None)
            or (entity and _ENTITY.search(data) is not None)
            or ((b"'" in data or b'"' in data) and self._if_quoted.may_be_in(data))
        )

    def _escaped_spans(self, data: bytes, depth: int, work: Work, *, within: bool = False) -> list[Span]:
        """Return where secrets are in `data` that are escaped up to `depth` times."""
        plain = Unescaped(data)
        if not plain.count:
            return []
        work.spend(_WORK_OF_AN_ESCAPE * plain.count)
        inner = [] if within else widen_to_words(plain.data, self._in_encodings(plain.data, work))
        if depth > 1:
            inner += self._escaped_spans(plain.data, depth - 1, work, within=within)
        found = [plain.source(*span) for span in merge_spans(inner)]
        for start, end in self._unescaped.places(plain.data):
            outwards = self._canonical[plain.data[start:end]]
            found.append(plain.source(start, end, outwards=outwards))
        return found

    def _in_encodings(self, data: bytes, work: Work, *, within: bool = False) -> list[Span]:
        """Return where secrets are in base64, hexadecimal digits or dumps. Their text may be encoded again."""
        found: list[Span] = []
        work.spend(len(data))
        for layer in decode_all(data):
            inner = self._decodable.places(layer.data)
            if not within and (parts := Readable(layer.data)).data:
                places = self._in_encodings(parts.data, work, within=True)
                if has_escapes(parts.data):
                    places += self._escaped_spans(parts.data, _DEPTH, work, within=True)
                inner += [parts.source(*span) for span in places]
            found += layer.source(inner)
        if _may_be_dumped(data):
            for dump in read_dumps(data):
                found += [dump.source(*span) for span in self._decodable.places(dump.data)]
        return found


def _may_be_dumped(data: bytes) -> bool:
    classes = data.translate(_HEX_CLASSES)
    return _PAIRS in classes or _QUADS in classes


def _escape_forms(value: bytes) -> Iterator[bytes]:
    """Yield the value as other programs write it: for JSON, for JSON in ASCII, for a URL, for HTML."""
    json = _JSON_SIGN.sub(lambda sign: _JSON_SIGNS.get(sign[0]) or b"\\u%04x" % sign[0][0], value)
    yield json
    units = json.decode("utf-8", "surrogateescape").encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[place : place + 2]) for place in range(0, len(units), 2))
    yield b"".join(bytes((code,)) if code < 0x80 else b"\\u%04x" % code for code in codes)
    yield _URL_SIGN.sub(lambda sign: b"%%%02X" % sign[0][0], value)
    yield _HTML_SIGN.sub(lambda sign: _HTML_SIGNS[sign[0]], value)


def _encode_forms(value: bytes) -> Iterator[bytes]:
    """Yield the characters that base64 or hexadecimal digits of the value contain at any offset in a word."""
    start = value[:_ENOUGH]
    yield start.hex().encode()
    yield start.hex().upper().encode()
    others = () if _TOKEN.fullmatch(value) else _escape_forms(value)
    for form in {start, *(form[:_ENOUGH] for form in others)}:
        yield from _encode_base64(form)
    for form in set(_encode_base64(start)):
        yield from _encode_base64(form)


def _encode_base64(value: bytes) -> Iterator[bytes]:
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):
            # Only the characters that depend on the value alone.
            yield encode(bytes(before) + value)[-(-before * 8 // 6) : (before + len(value)) * 8 // 6]
