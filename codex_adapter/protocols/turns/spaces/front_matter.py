"""The front matter of a SKILL.md: enough of it to know a skill by (Z2)."""

from __future__ import annotations

import re
from typing import Final

from codex_adapter.protocols.turns.spaces.errors import SpaceError

__all__ = ["read_front_matter"]

_FENCE: Final = "---"
_KEY: Final = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9_-]*):(?:[ \t]+(?P<value>.*))?", re.ASCII)
_BLOCK: Final = re.compile(r"[|>][-+0-9]{0,2}", re.ASCII)
_QUOTES: Final = {'"': re.compile(r'"((?:[^"\\]|\\.)*)"'), "'": re.compile(r"'((?:[^']|'')*)'")}
_BELOW: Final = (" ", "\t", "- ")
"""How lines begin that belong to the key above."""
_NOT_PLAIN: Final = re.compile(r"[@`%&*!]|.*:([ \t]|$)")
"""What YAML does not take for a text without quotes."""


def read_front_matter(text: str, name: str) -> dict[str, str]:
    """Texts by keys; what stands on indented lines below a key is joined by spaces (Z2).

    `name` is how errors call the file. Raises `SpaceError`.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    if not lines or lines[0] != _FENCE or _FENCE not in lines[1:]:
        raise SpaceError(f"{name} does not begin with front matter between lines '---'")
    found: dict[str, list[str]] = {}
    below: list[str] = []
    for number, line in enumerate(lines[1 : lines.index(_FENCE, 1)], 2):
        matched = _KEY.fullmatch(line)
        if matched:
            if matched["key"] in found:
                raise SpaceError(f"{name}: the key in line {number} is there twice")
            below = found.setdefault(matched["key"], [])
            below.append(_value(matched["value"] or "", f"{name}: the value in line {number}"))
        elif not line or line.startswith(_BELOW):
            below.append(line.strip())
        elif not line.startswith("#"):
            raise SpaceError(f"{name}: line {number} is no 'key: value'")
    return {key: " ".join(filter(None, texts)) for key, texts in found.items()}


def _value(written: str, what: str) -> str:
    value = written.strip()
    if _BLOCK.fullmatch(value) or value.startswith("#"):
        return ""
    quotes = _QUOTES.get(value[:1])
    if quotes is None:
        plain = value.partition(" #")[0].rstrip()
        if _NOT_PLAIN.match(plain):
            raise SpaceError(f"{what} is no YAML as it stands; put it in quotes")
        return plain
    quoted = quotes.match(value)
    rest = value[quoted.end() :].lstrip() if quoted else value
    if quoted is None or (rest and not rest.startswith("#")):
        raise SpaceError(f"{what} does not end with the quote that it begins with")
    return re.sub(r"\\(.)", r"\1", quoted[1]) if value[0] == '"' else quoted[1].replace("''", "'")
