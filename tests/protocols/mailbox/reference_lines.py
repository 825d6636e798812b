"""Find lines and tags of an answer character by character, for the reference parser."""

from __future__ import annotations

__all__ = ["closes", "decoded", "ends_with_closing", "has_opening", "is_white", "opens", "opens_at", "split", "trimmed"]


def decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data[2:].decode("utf-16-le" if data[0] == 0xFF else "utf-16-be")
    return data[3 * (data[:3] == b"\xef\xbb\xbf") :].decode()


def split(text: str) -> list[str]:
    lines = [""]
    for index, character in enumerate(text):
        if character == "\n":
            lines.append("")
        elif not (character == "\r" and text[index + 1 : index + 2] == "\n"):
            lines[-1] += character
    return lines if lines[-1] else lines[:-1]


def is_white(character: str) -> bool:
    return character.isspace() or character in "\u200b\ufeff"


def trimmed(line: str) -> str:
    while line and is_white(line[0]):
        line = line[1:]
    while line and is_white(line[-1]):
        line = line[:-1]
    return line


def opens_at(line: str, place: int, name: str) -> bool:
    behind = line[place + 1 + len(name) :][:1]
    return line[place:].startswith(f"[{name}") and not (behind.isalnum() or behind == "_")


def opens(line: str, name: str) -> bool:
    return opens_at(trimmed(line), 0, name)


def has_opening(line: str, name: str) -> bool:
    return any(opens_at(line, place, name) for place in range(len(line)))


def closes(line: str, name: str) -> bool:
    return trimmed(line) == f"[/{name}]"


def ends_with_closing(line: str, name: str) -> bool:
    return trimmed(line).endswith(f"[/{name}]")
