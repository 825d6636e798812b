"""Encode a secret in the forms in which programs write it."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape as xml_escape

__all__ = ["FORMS", "IN_LINES"]

_ESCAPE = re.compile(r"%[0-9A-F]{2}")


def _shifted(encode: Callable[[bytes], bytes], before: int, after: int) -> Callable[[str], str]:
    return lambda secret: encode(b"\xa5" * before + secret.encode() + b"\x5a" * after).decode()


def _percent(digits: str) -> Callable[[str], str]:
    return lambda secret: "".join(f"%{byte:{digits}}" for byte in secret.encode())


def _slashes(secret: str) -> str:
    return json.dumps(secret)[1:-1].replace("/", r"\/")


def _bash_quoted(secret: str) -> str:
    """As `printf %q` of bash: with backslashes, or as `$'...'` where a character cannot be shown."""
    if secret.isascii() and secret.isprintable():
        return re.sub(r"([^A-Za-z0-9_./:=@%+,-])", r"\\\1", secret)
    shown = {0x27: "\\'", 0x5C: "\\\\", 0x0A: "\\n", 0x09: "\\t"}
    return "".join(
        shown.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in secret.encode()
    )


def _nested(secret: str, levels: int) -> str:
    return secret if not levels else json.dumps(_nested(secret, levels - 1))[1:-1]


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
    "JSON, five times": lambda secret: _nested(secret, 5),
    "URL, everything escaped, twice": lambda secret: quote(_percent("02X")(secret), safe=""),
    "URL, all but letters and digits": lambda secret: re.sub(
        rb"[^A-Za-z0-9]", lambda sign: b"%%%02X" % sign[0][0], secret.encode()
    ).decode(),
    "URL, three times": lambda secret: quote(quote(quote(secret, safe=""), safe=""), safe=""),
    "HTML": html.escape,
    "HTML within HTML": lambda secret: html.escape(html.escape(secret)),
    "HTML within JSON": lambda secret: json.dumps(html.escape(secret))[1:-1],
    "XML": lambda secret: xml_escape(secret, {"'": "&apos;", '"': "&quot;"}),
    "HTML, decimal": lambda secret: "".join(f"&#{ord(character)};" for character in secret),
    "HTML, hexadecimal": lambda secret: "".join(f"&#x{ord(character):x};" for character in secret),
    "shell": lambda secret: secret.replace("'", "'\"'\"'"),
    "bash -x": lambda secret: secret.replace("'", "'\\''"),
    "printf %q": _bash_quoted,
    "re.escape": re.escape,
    "Markdown": lambda secret: re.sub(r"([^\w\s]|_)", r"\\\1", secret, flags=re.ASCII) if secret.isascii() else secret,
    "SQL": lambda secret: secret.replace("'", "''"),
    "CSV": lambda secret: secret.replace('"', '""'),
    "octal": lambda secret: "".join(f"\\{byte:03o}" for byte in secret.encode()),
    "long escapes": lambda secret: "".join(f"\\U{ord(character):08x}" for character in secret),
    "escapes in braces": lambda secret: "".join(f"\\u{{{ord(character):x}}}" for character in secret),
    "hex": lambda secret: secret.encode().hex(),
    "HEX": lambda secret: secret.encode().hex().upper(),
    "hex in hex": lambda secret: "00ff" + secret.encode().hex() + "abcd",
    **{
        f"{name} at {before}, {after} after": _shifted(encode, before, after)
        for name, encode in (("base64", b64encode), ("base64 for URLs", urlsafe_b64encode))
        for before in range(3)
        for after in range(3)
    },
    "base64 for a URL": lambda secret: quote(b64encode(f"\xa5\xbe:{secret}".encode()).decode(), safe=""),
    "base64 within JSON": lambda secret: b64encode(f"a:{secret}".encode()).decode().replace("/", r"\/"),
    "base64 of base64": lambda secret: b64encode(b64encode(f"user:{secret}".encode())).decode(),
    "base64 of JSON": lambda secret: b64encode(json.dumps({"auth": secret}).encode()).decode(),
    "base64 of a URL": lambda secret: b64encode(quote(f"a={secret}", safe="").encode()).decode(),
    "base64 of HTML": lambda secret: b64encode(html.escape(f"<a>{secret}").encode()).decode(),
    "hexadecimal pairs": lambda secret: secret.encode().hex(" "),
}
"""By name, what makes the form of a secret. Padding and what stands around a secret are a part of the form."""


def _lines(text: str, width: int) -> str:
    return "\n".join(text[start : start + width] for start in range(0, len(text), width))


def _dump(secret: str, line: Callable[[int, bytes], str]) -> str:
    data = b"password: " + secret.encode() + b", and so on"
    return "\n".join(line(start, data[start : start + 16]) for start in range(0, len(data), 16))


def _readable(data: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)


def _hexdump(start: int, data: bytes) -> str:
    return f"{start:08x}  {f'{data[:8].hex(chr(32))}  {data[8:].hex(chr(32))}':<48}  |{_readable(data)}|"


def _xxd(start: int, data: bytes) -> str:
    return f"{start:08x}: {data.hex(' ', -2):<40} {_readable(data)}"


def _words(start: int, data: bytes) -> str:
    pairs = (data[place : place + 2].ljust(2, b"\0") for place in range(0, len(data), 2))
    return f"{start:07o} " + " ".join(pair[::-1].hex() for pair in pairs)


IN_LINES: Final[dict[str, Callable[[str], str]]] = {
    "base64 in lines of 76": lambda secret: _lines(b64encode(b"\xa5" * 50 + secret.encode() * 2).decode(), 76),
    "base64 in lines of 64": lambda secret: _lines(b64encode(b"\xa5" * 44 + secret.encode() * 2).decode(), 64),
    "base64 of MIME": lambda secret: encodebytes(b"\xa5" * 53 + secret.encode() * 2).decode().replace("\n", "\r\n"),
    "base64 in lines of 24": lambda secret: _lines(b64encode(b"\xa5" * 20 + secret.encode() * 2).decode(), 24),
    "base64 in lines of 16": lambda secret: _lines(b64encode(b"\xa5" * 15 + secret.encode() * 2).decode(), 16),
    "xxd -p -c 8": lambda secret: _lines((b"\xa5" * 11 + secret.encode() * 2).hex(), 16),
    "xxd -p -c 10": lambda secret: _lines((b"\xa5" * 13 + secret.encode() * 2).hex(), 20),
    "xxd -p": lambda secret: _lines((b"\xa5" * 25 + secret.encode() * 2).hex(), 60),
    "xxd": lambda secret: _dump(secret, _xxd),
    "hexdump -C": lambda secret: _dump(secret, _hexdump),
    "hexdump": lambda secret: _dump(secret, _words),
    "od -An -tx1": lambda secret: _dump(secret, lambda _, data: f" {data.hex(' ')}"),
}
"""The same for forms that take lines of their own."""
