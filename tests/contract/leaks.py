"""Search output for planted words in all their encoded forms."""

from __future__ import annotations

import base64
import secrets
import string
from collections.abc import Iterable
from typing import Final

__all__ = ["Canary", "leaks"]

PIECE: Final = 8
"""Characters of a canary that count as a leak of it."""
WORD: Final = 24
_LETTERS: Final = string.ascii_lowercase + string.digits


class Canary:
    """A word that occurs nowhere by chance; `name` says where it was put."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.word = "".join(secrets.choice(_LETTERS) for _ in range(WORD))

    def forms_in(self, data: bytes) -> list[str]:
        """The forms in which the word, or a piece of it, can be read in `data`."""
        lowered = data.lower()
        while b"\\\\" in lowered:  # as often as an escape is escaped itself
            lowered = lowered.replace(b"\\\\", b"\\")
        while b"%25" in lowered:
            lowered = lowered.replace(b"%25", b"%")
        found = {form: None for form, text in self._encoded() if any(piece in lowered for piece in _ends(text.lower()))}
        whole = self.word.encode()
        pieces = (whole[start : start + PIECE] for start in range(len(whole) - PIECE + 1))
        return [*found] + ["plain"] * any(piece in lowered for piece in pieces)

    def _encoded(self) -> Iterable[tuple[str, bytes]]:
        word = self.word.encode()
        yield "hexadecimal", word.hex().encode()
        yield "hexadecimal, apart", word.hex(" ").encode()
        yield "UTF-16", self.word.encode("utf-16-le")
        yield "escaped for JSON", b"".join(b"\\u%04x" % byte for byte in word)
        yield "escaped for Python", b"".join(b"\\x%02x" % byte for byte in word)
        yield "escaped for a URL", b"".join(b"%%%02x" % byte for byte in word)
        yield "escaped for HTML", b"".join(b"&#%d;" % byte for byte in word)
        yield "escaped for HTML, hexadecimal", b"".join(b"&#x%x;" % byte for byte in word)
        yield "escaped in octal", b"".join(b"\\%03o" % byte for byte in word)
        yield "escaped at length", b"".join(b"\\U%08x" % byte for byte in word)
        yield "escaped in braces", b"".join(b"\\u{%x}" % byte for byte in word)
        yield "backwards", word[::-1]
        for once in _in_base64(word):
            yield "base64", once
            yield from (("base64 of base64", twice) for twice in _in_base64(once))


def _in_base64(word: bytes) -> Iterable[bytes]:
    for before in range(3):
        # Only the characters that depend on the word alone.
        text = base64.b64encode(bytes(before) + word)
        yield text[-(-before * 8 // 6) : (before + len(word)) * 8 // 6]


def _ends(encoded: bytes) -> tuple[bytes, bytes]:
    """What is left of an encoded word that is cut at its end, or at its beginning; if it is whole, it has both."""
    size = len(encoded) * PIECE // WORD
    return encoded[:size], encoded[-size:]


def leaks(data: bytes, canaries: Iterable[Canary]) -> list[str]:
    """Which canaries can be read in `data`, and how."""
    return [f"{canary.name}: {form}" for canary in canaries for form in canary.forms_in(data)]
