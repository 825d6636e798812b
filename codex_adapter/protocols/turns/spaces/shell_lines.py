"""A directory put into a shell's line, quoted as its place in the line demands (Z2)."""

from __future__ import annotations

import re
import shlex
from typing import Final

__all__ = ["SPACE", "with_directory"]

SPACE: Final = "${SPACE}"
"""What stands for the directory of a space."""
_PLAIN, _SINGLE, _DOUBLE = "(", "'", '"'
_PIECE: Final = re.compile(r"\\.|\$\{SPACE\}|\$\(|.", re.DOTALL)
_SINGLE_PIECE: Final = re.compile(r"\$\{SPACE\}|.", re.DOTALL)


def with_directory(line: str, directory: str) -> str:
    """The line with the directory in the place of each `${SPACE}`, as one word whatever characters it has (Z2)."""
    pieces: list[str] = []
    within = [_PLAIN]
    position = 0
    while position < len(line):
        here = within[-1]
        matched = (_SINGLE_PIECE if here == _SINGLE else _PIECE).match(line, position)
        piece = matched[0] if matched else line[position:]
        position += len(piece)
        pieces.append(_quoted(directory, here) if piece == SPACE else piece)
        _follow(piece, within)
    return "".join(pieces)


def _follow(piece: str, within: list[str]) -> None:
    """Which quotes and parentheses are open behind a piece."""
    here = within[-1]
    if here == _PLAIN and piece in (_SINGLE, _DOUBLE):
        within.append(piece)
    elif (here == _PLAIN and piece in ("(", "$(")) or (here == _DOUBLE and piece == "$("):
        within.append(_PLAIN)
    elif (piece == here and here != _PLAIN) or (piece == ")" and here == _PLAIN and len(within) > 1):
        within.pop()


def _quoted(directory: str, within: str) -> str:
    if within == _SINGLE:
        return directory.replace("'", "'\\''")
    if within == _DOUBLE:
        return re.sub(r'([\\"$`])', r"\\\1", directory)
    return shlex.quote(directory)
