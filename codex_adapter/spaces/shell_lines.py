"""Replace `${SPACE}` in a shell command by a directory, quoted for its context (Z2)."""

from __future__ import annotations

import re
import shlex
from typing import Final

__all__ = ["SPACE", "insert_directory"]

SPACE: Final = "${SPACE}"
"""The placeholder for the directory of a space."""
_PLAIN, _SINGLE, _DOUBLE, _BACKTICKS, _BRACES = "(", "'", '"', "`", "{"
_PIECE: Final = re.compile(r"\\.|\$\{SPACE\}|\$\(|\$\{|.", re.DOTALL)
_SINGLE_PIECE: Final = re.compile(r"\$\{SPACE\}|.", re.DOTALL)
_COMMENT: Final = re.compile(r"(?<![^\s;&|()])#")
_COMMAND: Final = (_PLAIN, _BACKTICKS)
"""The contexts in which the shell reads commands."""


def insert_directory(line: str, directory: str) -> str:
    """Return the line with the directory for each `${SPACE}`, quoted so that it is always part of one word (Z2)."""
    pieces: list[str] = []
    within = [_PLAIN]
    position = 0
    while position < len(line):
        here = within[-1]
        if here in _COMMAND and _COMMENT.match(line, position):
            return "".join([*pieces, line[position:]])  # a directory with a newline would end the comment
        matched = (_SINGLE_PIECE if here == _SINGLE else _PIECE).match(line, position)
        piece = matched[0] if matched else line[position:]
        position += len(piece)
        pieces.append(_quote(directory, within) if piece == SPACE else piece)
        _follow(piece, within)
    return "".join(pieces)


def _follow(piece: str, within: list[str]) -> None:
    """Update which quotes, parentheses and braces are open after a piece."""
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
    """Return whether the position is in double quotes, or in the braces of a variable within double quotes."""
    return next((it for it in reversed(within) if it != _BRACES), _PLAIN) == _DOUBLE


def _quote(directory: str, within: list[str]) -> str:
    if within[-1] == _SINGLE:
        quoted = directory.replace("'", "'\\''")
    elif _in_double_quotes(within):
        quoted = re.sub(r'([\\"$`}])' if within[-1] == _BRACES else r'([\\"$`])', r"\\\1", directory)
    else:
        quoted = shlex.quote(directory)
    # The shell parses the content of backticks twice. The first time, it only removes backslashes before these three.
    return re.sub(r"([\\$`])", r"\\\1", quoted) if _BACKTICKS in within else quoted
