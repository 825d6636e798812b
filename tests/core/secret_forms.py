"""The forms in which a secret may travel, each as whoever writes it would write it."""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, quote_plus

__all__ = ["FORMS"]

_ESCAPE = re.compile(r"%[0-9A-F]{2}")


def _shifted(encode: Callable[[bytes], bytes], before: int, after: int) -> Callable[[str], str]:
    return lambda secret: encode(b"\xa5" * before + secret.encode() + b"\x5a" * after).decode()


def _percent(digits: str) -> Callable[[str], str]:
    return lambda secret: "".join(f"%{byte:{digits}}" for byte in secret.encode())


def _slashes(secret: str) -> str:
    return json.dumps(secret)[1:-1].replace("/", r"\/")


FORMS: Final[dict[str, Callable[[str], str]]] = {
    "plain": str,
    "JSON": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "JSON in ASCII": lambda secret: json.dumps(secret)[1:-1],
    "JSON with escaped slashes": _slashes,
    "JSON, everything escaped": lambda secret: "".join(
        f"\\u{unit:04x}" for unit in memoryview(secret.encode("utf-16-le")).cast("H")
    ),
    "JSON, everything escaped, upper case": lambda secret: "".join(
        f"\\u{unit:04X}" for unit in memoryview(secret.encode("utf-16-le")).cast("H")
    ),
    "JSON within JSON": lambda secret: json.dumps(json.dumps(secret)[1:-1])[1:-1],
    "bytes of Python": lambda secret: "".join(f"\\x{byte:02x}" for byte in secret.encode()),
    "URL": lambda secret: quote(secret, safe=""),
    "URL with slashes": quote,
    "URL, lower case": lambda secret: _ESCAPE.sub(lambda escape: escape[0].lower(), quote(secret, safe="")),
    "form": quote_plus,
    "URL, everything escaped": _percent("02X"),
    "URL, everything escaped, lower case": _percent("02x"),
    "URL within a URL": lambda secret: quote(quote(secret, safe=""), safe=""),
    "URL within JSON": lambda secret: json.dumps(quote(secret, safe=""))[1:-1],
    "hex": lambda secret: secret.encode().hex(),
    "HEX": lambda secret: secret.encode().hex().upper(),
    "hex in hex": lambda secret: "00ff" + secret.encode().hex() + "abcd",
    **{
        f"{name} at {before}, {after} after": _shifted(encode, before, after)
        for name, encode in (("base64", b64encode), ("base64 for URLs", urlsafe_b64encode))
        for before in range(3)
        for after in range(3)
    },
}
"""By name, what makes the form of a secret. Padding and what stands around a secret are a part of the form."""
