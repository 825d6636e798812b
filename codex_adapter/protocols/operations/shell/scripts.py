"""Refuse scripts of `sed` and commands of `sqlite3` that may execute a program (A3)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codex_adapter.protocols.operations.shell.effects import Effects
from codex_adapter.protocols.operations.shell.text import UnclearError, Word

__all__ = ["sed", "sqlite"]

# Groups of several pieces are not possessive: until Python 3.11.4, a match continues after such a group fails.
_BRACKETS = r"\[\^?+\]?+(?:\[:\w+:\]|\[(?![:=.])|[^]\[\n])*+\]"
_REGULAR = rf"/(?:\\.|{_BRACKETS}|[^\\/\n\[])*/[IM]*"
_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|{_REGULAR})"
_SUBSTITUTION = (
    rf"s(?P<sign>[^\w\s\\\[\]])(?:\\.|{_BRACKETS}|(?!(?P=sign))[^\\\n\[])*(?P=sign)"
    r"(?:\\[\s\S]|(?!(?P=sign))[^\\\n])*(?P=sign)[gpiIm\d]*"
)
_TRANSLATION = r"y(?P<mark>[^\w\s\\])(?:\\.|(?!(?P=mark))[^\\\n])*(?P=mark)(?:\\.|(?!(?P=mark))[^\\\n])*(?P=mark)"
_TEXT = r"[aic](?:\\[\s\S]|[^\\\n])*+"
_COMMAND = re.compile(
    rf"[\s;{{}}]*(?:#[^\n]*|(?:{_ADDRESS}(?:,(?:{_ADDRESS}|[+~]\d+))?)?\s*!?\s*"
    rf"(?:{_SUBSTITUTION}|{_TRANSLATION}|{_TEXT}|[=dDgGhHnNpPxz]|[qQlL]\d*|[bt:T]\s*\w*|\{{)\s*(?=[;\n}}]|\Z|(?<=\{{)))"
)
"""A command of `sed` that does not execute or write. Within brackets, the delimiter is an ordinary character."""
_SQLITE = re.compile(r"\s*\.(?:databases|dump|fullschema|headers?|help|indexes|mode|schema|tables|version)\b[^\n]*")


def sed(words: Sequence[Word], _: Effects) -> None:
    """Raise UnclearError if a script may execute a command or write a file (A3)."""
    scripts, operands, from_file = list[Word](), list[Word](), False
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.may_be_an_option or word.text == "-":
            operands.append(word)
        elif word.text == "--":
            operands += rest
            break
        elif word.prefix.startswith("--"):
            name, equals, value = word.prefix.partition("=")
            if "--expression".startswith(name):
                scripts += [word._replace(parts=(value, *word.parts[1:]))] if equals else rest[:1]
            from_file = from_file or "--file".startswith(name)
            del rest[: not equals and name.startswith(("--e", "--f", "--l"))]
        else:
            option = re.match(r"-[nErsuz]*([efil]?)", word.prefix)
            letter, value = (option[1], word.prefix[option.end() :]) if option else ("", "")
            whole = value != "" or len(word.parts) > 1
            if letter == "e":
                scripts += [word._replace(parts=(value, *word.parts[1:]))] if whole else rest[:1]
            from_file = from_file or letter == "f"
            del rest[: letter != "" and letter in "efl" and not whole]
            if word.text is None and not letter:
                raise UnclearError("an option is unknown before it runs")
    if not scripts and not from_file:
        scripts = operands[:1]
    if any(word.text is None for word in scripts):
        raise UnclearError("its script is unknown before it runs")
    if not _is_plain("\n".join(word.text or "" for word in scripts)):
        raise UnclearError("its script may execute a command or write a file")


def _is_plain(script: str) -> bool:
    position = 0
    while script[position:].strip("; \t\n}"):
        command = _COMMAND.match(script, position)
        if command is None or command.end() == position:
            return False
        position = command.end()
    return True


def sqlite(words: Sequence[Word], _: Effects) -> None:
    """Raise UnclearError if an argument may be a command that executes a program (A3)."""
    for word in words:
        text = word.text
        if text is None and word.prefix.lstrip()[:1] in ("", "."):
            raise UnclearError("a command of it is unknown before it runs")
        if text is not None and text.lstrip().startswith(".") and not _SQLITE.fullmatch(text):
            raise UnclearError("a command of it may execute a program")
        if re.search(r"\b(edit|load_extension)\b", "".join(part or "" for part in word.parts), re.IGNORECASE):
            raise UnclearError("a function of it may execute a program")
