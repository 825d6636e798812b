"""The well-known shapes of credentials: a pattern that finds each, and a cheap 'no' for text that has none (X5)."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["TOKEN_SHAPES", "long_tokens", "long_words", "may_have_token"]

TOKEN_SHAPES: Final = re.compile(
    # Tokens that are known by how they begin. None begins inside a longer run of token characters, of which the letter
    # of a JSON escape is none; and all that repeats is possessive, so that no text makes a pattern look twice.
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt]))(?:"
    r"sk-[A-Za-z0-9_-]{16,}+"
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}+"
    r"|gh[pousr]_[A-Za-z0-9]{20,}+"
    r"|github_pat_[A-Za-z0-9_]{20,}+"
    r"|glpat-[A-Za-z0-9_-]{16,}+"
    r"|xox[abeprs]-[A-Za-z0-9-]{12,}+"
    r"|A[KS]IA[0-9A-Z]{16}(?![0-9A-Za-z_-])"
    r"|AIza[0-9A-Za-z_-]{30,}+"
    r"|hf_[A-Za-z0-9]{30,}+"
    r"|npm_[A-Za-z0-9]{30,}+"
    r"|pypi-[A-Za-z0-9_-]{32,}+"
    r"|eyJ[A-Za-z0-9_-]{13,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]++)?"
    r")"
    # Credentials that are known by what stands around them.
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{16,}+"
    r"|(?<=[Bb]asic )[A-Za-z0-9+/=]{16,}+"
    r"|(?<=://)[^\s/@:]{0,128}+:[^\s/@]{2,256}+(?=@)"
    r"|-----BEGIN [A-Z ]{0,40}?PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]{0,40}?PRIVATE KEY-----|\Z)"
)

# The pattern costs twenty times what the rest of the pipeline does, so it must not see ordinary text. What it matches
# has one of these in it ...
_KEY = "PRIVATE KEY-----"
_USER = re.compile(r"://[^\s/@:]{0,128}+:[^\s/@]{2,256}+@")
# ... or is a word of 16 characters and more after `Bearer ` or `Basic ` ...
_BYTES_BEFORE = 6
# ... or with a run of 16 token characters in it that begins with one of these.
_PREFIXES = tuple(
    prefix.encode()
    for prefix in (
        *("sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        *("github_pat_", "glpat-", "xox", "AKIA", "ASIA", "AIza", "hf_", "npm_", "pypi-", "eyJ"),
    )
)
_LONG = b"x" * 16


def _classes(besides: str) -> bytes:
    """A table for `bytes.translate`: letters, digits and some others become `x`, everything else a space."""
    ascii_classes = ("x" if chr(code).isalnum() or chr(code) in besides else " " for code in range(128))
    return "".join(ascii_classes).encode() + b" " * 128


_TOKEN_CHARACTERS = _classes("_-")
_WORD_CHARACTERS = _classes("_-.~+/=")


def long_words(encoded: bytes) -> bytes:
    """The words of 16 characters and more, each with the few bytes before it: few in ordinary text, but for paths."""
    return b"\n".join(_long_runs(encoded, _WORD_CHARACTERS, _BYTES_BEFORE))


def long_tokens(words: bytes) -> list[bytes]:
    """Of these words, the runs of 16 token characters and more: letters, digits, `_` and `-`."""
    return _long_runs(words, _TOKEN_CHARACTERS, 0)


def may_have_token(window: str, words: bytes, tokens: list[bytes]) -> bool:
    """Whether the pattern could match in a text with these long words and tokens: never a wrong 'no'."""
    return (
        _KEY in window
        or ("@" in window and "://" in window and _USER.search(window) is not None)
        or b"earer " in words
        or b"asic " in words
        # One further on, because of the letter of an escape.
        or any(token.startswith(_PREFIXES) or token.startswith(_PREFIXES, 1) for token in tokens)
    )


def _long_runs(data: bytes, table: bytes, before: int) -> list[bytes]:
    # A bytearray is translated in half the time.
    classes = bytearray(data).translate(table)
    runs: list[bytes] = []
    start = classes.find(_LONG)
    while start >= 0:
        end = classes.find(b" ", start)
        if end < 0:
            end = len(data)
        runs.append(data[start - before if start > before else 0 : end])
        start = classes.find(_LONG, end)
    return runs
