"""Decode and encode the content of large files in pieces (O3).

A file of ten megabytes never becomes one decoded string, which needs four bytes for each character if one of them is an
emoji.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Literal

import msgspec
from msgspec import Raw
from typing_extensions import override

from codex_adapter.records import encode_lines

__all__ = ["PIECE", "Encoding", "Text", "check_utf8", "from_base64"]

PIECE: Final = 256 * 1024
"""The approximate size of a piece, in bytes."""

Encoding = Literal["utf-8", "base64"]
"""The encoding of a file's bytes in a JSON string."""

_PAIR: Final = rb"\\u[dD][89abAB]..\\u[dD][c-fC-F].."
_ESCAPE: Final = re.compile(rb"%b|\\u....|\\." % _PAIR, re.DOTALL)
_SECOND_HALF: Final = re.compile(rb"\\u[dD][c-fC-F]")
_string = msgspec.json.Decoder(str)


class Text:
    """A string of a message. Each read decodes it again, in pieces."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: Callable[[], Iterator[bytes]]) -> None:
        self._pieces = pieces

    @classmethod
    def of(cls, text: str) -> Text:
        """Return a text in memory."""
        return cls(partial(_split, memoryview(text.encode()), PIECE))

    @classmethod
    def of_json(cls, source: Raw, *, size: int = PIECE) -> Text:
        """Return the text of a JSON string without a copy. Its pieces raise ValueError if it is not Unicode."""
        return cls(partial(_decode_json, source, size))

    @classmethod
    def of_file(cls, data: bytes, encoding: Encoding, *, size: int = PIECE) -> Text:
        """Return a file's bytes as text, without a copy. Raises UnicodeDecodeError for invalid UTF-8."""
        if encoding == "base64":
            return cls(partial(_as_base64, memoryview(data), size))
        check_utf8(data)
        return cls(partial(_split, memoryview(data), size))

    def pieces(self) -> Iterator[bytes]:
        """Return the text in UTF-8, split between characters."""
        return self._pieces()

    def json_pieces(self) -> Iterator[bytes]:
        """Yield the text as a JSON string without any kind of line break."""
        yield b'"'
        for piece in self.pieces():
            yield encode_lines([piece.decode()])[1:-2]
        yield b'"'

    def text(self) -> str:
        """Return the text as one string."""
        return b"".join(self.pieces()).decode()

    @override
    def __eq__(self, other: object) -> bool:
        return self.text() == other.text() if isinstance(other, Text) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @override
    def __repr__(self) -> str:
        return "Text(...)"


def from_base64(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Decode base64 in pieces: only the standard alphabet, with padding.

    Raises binascii.Error, a ValueError, for any other text.
    """
    rest = b""
    ended = False
    for piece in pieces:
        text = rest + piece
        whole = len(text) // 4 * 4
        rest = text[whole:]
        if ended and text:
            raise binascii.Error("text after the padding")
        ended = text[:whole].endswith(b"=")
        yield _decode_base64(text[:whole])
    if rest:
        raise binascii.Error("not a multiple of four characters")


def check_utf8(data: bytes | bytearray | Raw) -> None:
    """Raise UnicodeDecodeError if the data is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for start in range(0, len(view), PIECE):
        decoder.decode(view[start : start + PIECE])
    decoder.decode(b"", final=True)


def _decode_base64(text: bytes) -> bytes:
    data = binascii.a2b_base64(text, strict_mode=True)
    if text.endswith(b"=") and not text.endswith(base64.b64encode(data[-1:] if text[-2:] == b"==" else data[-2:])):
        raise binascii.Error("unused bits that are not zero")
    return data


def _decode_json(source: Raw, size: int) -> Iterator[bytes]:
    text = memoryview(source)[1:-1]
    start = 0
    while start < len(text):
        end = _end_of_piece(text, start, start + size)
        yield _string.decode(b'"%b"' % bytes(text[start:end])).encode()
        start = end


def _split(text: memoryview, size: int) -> Iterator[bytes]:
    start = 0
    while start < len(text):
        end = _between_characters(text, start + size)
        yield bytes(text[start:end])
        start = end


def _as_base64(data: memoryview, size: int) -> Iterator[bytes]:
    step = size // 3 * 3
    for start in range(0, len(data), step):
        yield base64.b64encode(data[start : start + step])


def _end_of_piece(text: memoryview, start: int, end: int) -> int:
    """Return the last offset up to `end` that does not split a character, an escape or a surrogate pair."""
    end = _between_characters(text, end)
    piece = bytes(text[start:end])
    last = piece.rfind(b"\\", max(0, len(piece) - 6))
    backslashes = last + 1 - len(piece[: last + 1].rstrip(b"\\"))
    if end == len(text) or backslashes % 2 == 0:  # an even number of backslashes escapes nothing
        return end
    at = start + last
    if _SECOND_HALF.match(text, at) and re.match(_PAIR, text[max(start, at - 6) :], re.DOTALL):
        at -= 6
    escape = _ESCAPE.match(text, at)
    return at if escape is None or escape.end() > end else end


def _between_characters(text: memoryview, end: int) -> int:
    if end >= len(text):
        return len(text)
    for place in range(end, end - 3, -1):
        if text[place] & 0xC0 != 0x80:
            return place
    return end - 3
