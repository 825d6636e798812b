"""Find the well-known shapes of credentials, with a cheap test for text that has none (X5)."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Final

from codex_adapter.core.masking.escapes import Span
from codex_adapter.core.masking.token_prefixes import DISTINCTIVE, PREFIXED

__all__ = ["long_words", "may_have_token", "token_spans"]

_CLASSES: Final = {"%a": "[A-Za-z0-9]", "%t": "[A-Za-z0-9_-]", "%h": "[0-9a-fA-F]", "%%": "%"}


def _expand_classes(pattern: str) -> str:
    return re.sub("%.", lambda name: _CLASSES[name[0]], pattern)


def _build_prefixed_pattern() -> str:
    """Return the pattern of all prefixed tokens, grouped by first character, which is tried first.

    A token of fixed length must end there.
    """
    by_start: dict[str, list[str]] = {}
    for prefix, rest in PREFIXED.items():
        end = "" if rest.endswith(("+", "*", "?")) else "(?![A-Za-z0-9_-])"
        by_start.setdefault(prefix[0], []).append(f"{re.escape(prefix[1:])}{_expand_classes(rest)}{end}")
    return "|".join(f"{re.escape(start)}(?:{'|'.join(rests)})" for start, rests in sorted(by_start.items()))


# Tokens with a known prefix. Only a distinctive prefix may begin inside a longer run of token characters. The letters
# and digits of an escape do not count as part of that run. Every repetition is possessive, so that no text makes a
# pattern backtrack.
_PREFIXED_TOKEN: Final = re.compile(_build_prefixed_pattern().encode())
_BEGINNING: Final = re.compile("|".join(map(re.escape, sorted(PREFIXED))).encode())
_BEGINNINGS: Final = re.compile(
    rb"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt])"
    rb"|(?<=%(h)b{2})(?:(?<=%%..)|(?<=%%25..)|(?<=%%2525..)|(?<=\\x..)|(?<=\\u%(h)b{4})|(?<=\\U0{4}%(h)b{4})"
    rb"|(?<=\\[0-3][0-7]{2})))(?=%(prefix)b)"
    % {b"h": rb"[0-9A-Fa-f]", b"prefix": "|".join(map(re.escape, sorted(PREFIXED))).encode()}
)
_ANYWHERE: Final = tuple(prefix.encode() for prefix in DISTINCTIVE)
_OPTION: Final = re.compile(rb"[_-]\Z|-[A-Za-z]\Z")
# Credentials that are recognized by the text around or inside them.
_AMONG_OTHERS: Final = re.compile(
    rb"(?<=[Bb]earer |BEARER )[A-Za-z0-9._~+/=-]{16,}+"
    rb"|(?<=[Bb]asic |BASIC )[A-Za-z0-9+/=]{16,}+"
    rb"|(?<=Basic )(?P<basic>[A-Za-z0-9+/]{6,15}={0,2})(?![A-Za-z0-9+/=])"
    rb"|(?<=://)[^\s/@:]{0,128}+:[^\s/@]{2,256}+(?=@)"
    rb"|(?<=://)(?=[A-Za-z_.~-]*+[0-9])[A-Za-z0-9_.~-]{16,256}+(?=@)"
    rb"|(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}+"
    rb"|(?<=/webhooks/)[0-9]{15,}+/[A-Za-z0-9_-]{40,}+"
    rb"|(?<=\.webhook\.office\.com/)[A-Za-z0-9/@-]{60,}+"
    rb"|(?<=api\.telegram\.org/bot)[0-9]{5,16}:[A-Za-z0-9_-]{30,}+"
    rb"|(?:(?<=AccountKey=)|(?<=SharedAccessKey=))[A-Za-z0-9+/]{16,}+={0,2}"
    rb"|(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])"
    rb"|(?<![A-Za-z0-9_-])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"
    rb"|-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----"
    rb"(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----|\Z)"
)

# The pattern costs twenty times as much as the rest of the pipeline, so it must not see ordinary text. A text that it
# matches contains one of these ...
_KEY: Final = b"PRIVATE KEY"
_BASIC: Final = re.compile(rb"Basic [A-Za-z0-9+/]{6}")
_USER: Final = re.compile(rb"://[^\s/@]{2,385}+@")
# ... or has a word of at least 16 characters in which a run of token characters is, or begins with, one of these.
_BYTES_BEFORE: Final = 6
_DOTTED: Final = frozenset(prefix.split(".")[0].encode() for prefix in PREFIXED if "." in prefix)
_AROUND: Final = (
    *(b"earer ", b"EARER ", b"asic ", b"BASIC ", b"://", b"slack.com/", b"/webhooks/", b"webhook.office.com/"),
    *(b"telegram.org/bot", b"AccountKey=", b"AccessKey=", b"Q~", b".atlasv1.", _KEY),
)
_RUNS: Final = _DOTTED | {
    *(b"earer", b"EARER", b"Basic", b"basic", b"BASIC", b"atlasv1", b"slack", b"webhooks", b"webhook", b"telegram"),
    *(b"AccountKey", b"SharedAccessKey", b"sha256"),
}
_STARTS: Final = frozenset(
    f"{prefix}{more}"[:3].encode()
    for prefix in PREFIXED
    if not {".", "~"} & set(prefix)
    for more in ("" if len(prefix) > 2 else "0123456789abcdefABCDEF") or ("",)
)
_STARTS_ESCAPED: Final = _STARTS | {prefix[:3].encode() for prefix in PREFIXED if {".", "~"} & set(prefix)}
_OF_ESCAPES: Final = (1, 2, 3, 4, 5, 6, 9)
"""The numbers of letters and digits of an escape: `n`, `3D`, `x3d` and `075`, `253D`, `u003d`, `25253D`, `U0000003d`.
"""
_LONG: Final = b"x" * 16


def _build_class_table(besides: str) -> bytes:
    """Return a table for `bytes.translate`: letters, digits and `besides` become `x`, all other bytes a space."""
    ascii_classes = ("x" if chr(code).isalnum() or chr(code) in besides else " " for code in range(128))
    return "".join(ascii_classes).encode() + b" " * 128


_WORD_CHARACTERS: Final = _build_class_table("_-.~+/=")
_TOKENS_APART: Final = bytes(
    code if code < 128 and (chr(code).isalnum() or chr(code) in "_-") else ord(" ") for code in range(256)
)


def long_words(data: bytes) -> bytes:
    """Return the words of at least 16 characters, each with a few bytes around it. In ordinary text few but paths
    match."""
    # `bytearray.translate` takes half the time of `bytes.translate`.
    classes = bytearray(data).translate(_WORD_CHARACTERS)
    runs: list[bytes] = []
    start = classes.find(_LONG)
    while start >= 0:
        end = classes.find(b" ", start)
        if end < 0:
            end = len(data)
        runs.append(data[start - _BYTES_BEFORE if start > _BYTES_BEFORE else 0 : end + 2])
        start = classes.find(_LONG, end)
    return b"\0".join(runs)


def may_have_token(data: bytes, words: bytes) -> bool:
    """Return whether the pattern could match in a text with these long words. It is never wrongly False."""
    if words and _may_have_prefix(data, words):
        return True
    return (
        _KEY in data
        or (b"Basic" in data and _BASIC.search(data) is not None)
        or (b"@" in data and b"://" in data and _USER.search(data) is not None)
    )


def _may_have_prefix(data: bytes, words: bytes) -> bool:
    runs = words.translate(_TOKENS_APART).split()
    if b"Q~" in words or not _RUNS.isdisjoint(runs) or any(prefix in words for prefix in _ANYWHERE):
        return True
    if _STARTS.isdisjoint([run[:3] for run in runs]):
        escaped = words.replace(b"%", b"\\").split(b"\\")[1:]
        if all(_STARTS_ESCAPED.isdisjoint([run[at : at + 3] for run in escaped]) for at in _OF_ESCAPES):
            return False
    return _BEGINNING.search(words) is not None


def token_spans(data: bytes, start: int, end: int) -> list[Span]:
    """Return where credentials of these shapes begin between `start` and `end`. They may end after `end`."""
    found: list[Span] = []
    behind = start
    places = {beginning.start() for beginning in _BEGINNINGS.finditer(data, start, end)}
    for prefix in _ANYWHERE:
        place = data.find(prefix, start, end)
        while place >= 0:
            # A prefix of letters alone may be a part of a longer run of letters.
            if not prefix.isalnum() or _OPTION.search(data, max(place - 2, 0), place):
                places.add(place)
            place = data.find(prefix, place + 1, end)
    for place in sorted(places):
        if place >= behind and (match := _PREFIXED_TOKEN.match(data, place)):
            found.append(match.span())
            behind = match.end()
    if all(data.find(mark, start, end) < 0 for mark in _AROUND):
        return found
    while start < end:
        match = _AMONG_OTHERS.search(data, start, end)
        if match is not None and match.end() == end < len(data):
            # The match may continue. If it fails there, the next window finds it again.
            match = _AMONG_OTHERS.match(data, match.start())
        if match is None:
            break
        start = match.end()
        if match["basic"] is None or _is_login(match["basic"]):
            found.append(match.span())
    return found


def _is_login(word: bytes) -> bool:
    """Return whether this is base64 of a name and a password."""
    try:
        return b":" in b64decode(word + b"=" * (-len(word) % 4))
    except ValueError:
        return False
