"""A directory put into a shell's line, quoted as its place in the line demands (Z2)."""

from __future__ import annotations

import re
import shlex
from typing import Final

__all__ = ["SPACE", "with_directory"]

SPACE: Final = "${SPACE}"
"""What stands for the directory of a space."""
_PLAIN, _SINGLE, _DOUBLE, _BACKTICKS, _BRACES = "(", "'", '"', "`", "{"
_PIECE: Final = re.compile(r"\\.|\$\{SPACE\}|\$\(|\$\{|.", re.DOTALL)
_SINGLE_PIECE: Final = re.compile(r"\$\{SPACE\}|.", re.DOTALL)
_COMMENT: Final = re.compile(r"(?<![^\s;&|()])#")
_COMMAND: Final = (_PLAIN, _BACKTICKS)
"""Where words stand as in a line by itself."""


def with_directory(line: str, directory: str) -> str:
    """The line with the directory in the place of each `${SPACE}`, as one word whatever characters it has (Z2)."""
    pieces: list[str] = []
    within = [_PLAIN]
    position = 0
    while position < len(line):
        here = within[-1]
        if here in _COMMAND and _COMMENT.match(line, position):
            return "".join([*pieces, line[position:]])  # its end is the line's, which a directory could have within
        matched = (_SINGLE_PIECE if here == _SINGLE else _PIECE).match(line, position)
        piece = matched[0] if matched else line[position:]
        position += len(piece)
        pieces.append(_quoted(directory, within) if piece == SPACE else piece)
        _follow(piece, within)
    return "".join(pieces)


def _follow(piece: str, within: list[str]) -> None:
    """Which quotes, parentheses and braces are open behind a piece."""
    here = within[-1]
    if here == _SINGLE:
        if piece == _SINGLE:
            within.pop()
    elif piece == _BACKTICKS:
        if _BACKTICKS in within:
            del within[within.index(_BACKTICKS) :]
        else:
            within.append(_BACKTICKS)
    elif piece in ("$(", "${"):
        within.append(piece[1])
    elif piece == _DOUBLE:
        within.pop() if here == _DOUBLE else within.append(_DOUBLE)
    elif piece == _SINGLE and not _in_double_quotes(within):
        within.append(_SINGLE)
    elif piece == "(" and here in _COMMAND:
        within.append(_PLAIN)
    elif (piece == ")" and here == _PLAIN and len(within) > 1) or (piece == "}" and here == _BRACES):
        within.pop()


def _in_double_quotes(within: list[str]) -> bool:
    """Also in the braces of a variable that is in them."""
    return next((it for it in reversed(within) if it != _BRACES), _PLAIN) == _DOUBLE


def _quoted(directory: str, within: list[str]) -> str:
    if within[-1] == _SINGLE:
        quoted = directory.replace("'", "'\\''")
    elif _in_double_quotes(within):
        quoted = re.sub(r'([\\"$`}])' if within[-1] == _BRACES else r'([\\"$`])', r"\\\1", directory)
    else:
        quoted = shlex.quote(directory)
    # What is in backticks is read twice, at first for these alone.
    return re.sub(r"([\\$`])", r"\\\1", quoted) if _BACKTICKS in within else quoted
