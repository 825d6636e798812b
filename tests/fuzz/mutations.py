"""Change a stream of JSON Lines into another that is almost well-formed, as a byte fuzzer seldom does."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

__all__ = ["mutated"]

_AGAIN: Final = "~again"
_LIKELY: Final = 0.7


def mutated(stream: bytes, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> bytes:
    """The stream after one mutation: of a line's values, of the lines, or of the bytes, with parts of `others`."""
    lines = stream.split(b"\n")
    place = random.randrange(len(lines))
    if random.random() < _LIKELY:
        lines[place] = _with_other_values(lines[place], tokens, random)
    else:
        random.choice(_OF_LINES)(lines, place, others, tokens, random)
    return b"\n".join(lines)


def _with_other_values(line: bytes, tokens: Sequence[bytes], random: Random) -> bytes:
    """The line with one value, or one key, changed; as it was when it is no object."""
    try:
        value = json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return line
    holders = list(_holders(value))
    if not holders:
        return line
    holder = random.choice(holders)
    random.choice(_OF_VALUES)(holder, random.choice(list(_keys(holder))), tokens, random)
    try:
        text = json.dumps(value, ensure_ascii=random.random() < 0.5, separators=(",", ":"))
    except (ValueError, RecursionError):
        return line
    text = text.replace(_AGAIN, "").replace("\\u001a", "\x1a")
    return text.encode("utf-8", "surrogatepass")


def _holders(value: Any) -> list[Any]:
    """The value and all below it that are not empty objects or lists."""
    found, waiting = [], [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict | list) and here:
            found.append(here)
            waiting += here.values() if isinstance(here, dict) else here
    return found


def _keys(holder: Any) -> Sequence[Any]:
    return list(holder) if isinstance(holder, dict) else range(len(holder))


def _some_value(tokens: Sequence[bytes], random: Random) -> Any:
    text = random.choice(tokens).decode(errors="replace").strip('"')
    return random.choice(
        [
            *(None, True, False, 0, -1, 2**63, -(2**63) - 1, 10**30, 1.5, 1e300, "", " ", text, text * 20, [], {}),
            *([text], {text: text}, [[[]]], "\u2028\u0085\x7f", "\ud800", "\U0001f600" * 9, "sk-" + "a" * 20, "\r"),
        ]
    )


def _other_value(holder: Any, key: Any, tokens: Sequence[bytes], random: Random) -> None:
    holder[key] = _some_value(tokens, random)


def _no_value(holder: Any, key: Any, _tokens: Sequence[bytes], _random: Random) -> None:
    del holder[key]


def _repeated_key(holder: Any, key: Any, tokens: Sequence[bytes], random: Random) -> None:
    if isinstance(holder, dict):
        holder[key + _AGAIN] = random.choice([holder[key], _some_value(tokens, random)])


def _other_key(holder: Any, key: Any, tokens: Sequence[bytes], random: Random) -> None:
    if isinstance(holder, dict):
        name = random.choice(tokens).decode(errors="replace").strip('"')
        holder[name] = holder.pop(key) if random.random() < 0.5 else _some_value(tokens, random)


def _longer_text(holder: Any, key: Any, tokens: Sequence[bytes], random: Random) -> None:
    if isinstance(holder[key], str):
        text, more = holder[key], random.choice(tokens).decode(errors="replace").strip('"')
        place = random.randint(0, len(text))
        holder[key] = text[:place] + more + text[place:]


def _flat_or_nested(holder: Any, key: Any, tokens: Sequence[bytes], random: Random) -> None:
    if isinstance(holder, dict) and isinstance(holder[key], dict):
        holder |= holder.pop(key)
    elif isinstance(holder, dict):
        name = random.choice(("item", "content", "delta", "error", "usage"))
        holder[name] = {key: holder.pop(key)}
    else:
        holder[key] = [holder[key]]


def _lost_line(lines: list[bytes], place: int, *_: Any) -> None:
    del lines[place]
    lines[:] = lines or [b""]


def _line_twice(lines: list[bytes], place: int, *_: Any) -> None:
    lines.insert(place, lines[place])


def _line_elsewhere(lines: list[bytes], place: int, _others: Any, _tokens: Any, random: Random) -> None:
    line = lines.pop(place)
    lines.insert(random.randint(0, len(lines)), line)


def _two_lines_in_one(lines: list[bytes], place: int, _others: Any, _tokens: Any, random: Random) -> None:
    lines[place : place + 2] = [random.choice((b"", b"\r", b" ", b",")).join(lines[place : place + 2])]


def _lines_of_another(lines: list[bytes], place: int, others: Sequence[bytes], _tokens: Any, random: Random) -> None:
    other = random.choice(others).split(b"\n")
    start = random.randrange(len(other))
    lines[place:place] = other[start : start + random.randint(1, 4)]


def _rest_of_another(lines: list[bytes], place: int, others: Sequence[bytes], _tokens: Any, random: Random) -> None:
    other = random.choice(others).split(b"\n")
    lines[place:] = other[random.randrange(len(other)) :]


def _cut_off(lines: list[bytes], place: int, _others: Any, _tokens: Any, random: Random) -> None:
    lines[place] = lines[place][: random.randint(0, len(lines[place]))]


def _other_bytes(lines: list[bytes], place: int, _others: Any, tokens: Sequence[bytes], random: Random) -> None:
    line = lines[place]
    start = random.randint(0, len(line))
    end = start + random.choice((0, 0, 1, 2, 8))
    new = random.choice((random.randbytes(random.randint(0, 4)), random.choice(tokens)))
    lines[place] = line[:start] + new + line[end:]


_OF_VALUES: Final[Sequence[Callable[[Any, Any, Sequence[bytes], Random], None]]] = (
    *(_other_value, _no_value, _repeated_key, _other_key, _longer_text, _flat_or_nested),
)
_OF_LINES: Final[Sequence[Callable[[list[bytes], int, Sequence[bytes], Sequence[bytes], Random], None]]] = (
    *(_lost_line, _line_twice, _line_elsewhere, _two_lines_in_one, _lines_of_another, _rest_of_another),
    *(_cut_off, _other_bytes),
)
