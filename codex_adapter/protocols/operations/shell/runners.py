"""What a command runs in its turn, from its words: `sudo rm`, `sh -c 'rm'`, `find -exec rm`, `eval "rm"`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from codex_adapter.protocols.operations.shell.text import UnclearError, Word, known
from codex_adapter.protocols.operations.shell.wrappers import NOT_KNOWN, SHELLS, WRAPPERS

__all__ = ["Input", "Runs", "runs"]

ANYTHING = Word((None,), splits=True)
ASSIGNED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?==|$)")
EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
WRITING = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
OF_THE_SYSTEM = ("/dev/", "/proc/")
Input = Word | None
"""The text that a command reads as its input, where it is a here-document."""


@dataclass
class Runs:
    """What a command runs, sets and writes besides what its own name says."""

    commands: list[tuple[Word, ...]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)

    def text(self, word: Word) -> None:
        """Adds a text for the shell. Raises UnclearError where it is not known."""
        if word.text is None:
            raise UnclearError("the text that it runs is not known before")
        self.texts.append(word.text)


def runs(words: Sequence[Word], standard_input: Input, found: Runs) -> None:
    """Adds to `found` what the command of `words` runs. Raises UnclearError where that may not be all."""
    program = words[0].program or ""
    subcommand = f"{program} {words[1].text}" if len(words) > 1 else program
    if program in SHELLS:
        _shell(words[1:], standard_input, found)
    elif program in SPECIAL:
        SPECIAL[program](words[1:], found)
    elif program in WRAPPERS or subcommand in WRAPPERS:
        name = program if program in WRAPPERS else subcommand
        wrapped = WRAPPERS[name].unwrap(words[1:] if name == program else words[2:])
        found.assigned += wrapped.assigned
        if name == "time":
            found.writes += [value for option, value in wrapped.options.items() if option in ("o", "output")]
        if wrapped.words:
            found.commands.append(wrapped.words)


def _shell(words: Sequence[Word], standard_input: Input, found: Runs) -> None:
    rest = list(words)
    takes_text = takes_input = False
    while rest and (rest[0].may_be_an_option or rest[0].prefix.startswith("+")):
        option = rest.pop(0).text
        if option is None:
            raise UnclearError("an option is not known before it runs")
        if option in ("--version", "--help"):
            return
        if option in ("-", "--"):
            break
        if option.startswith("--"):
            del rest[: option in ("--rcfile", "--init-file")]
            continue
        takes_text = takes_text or (option[0] == "-" and "c" in option)
        takes_input = takes_input or (option[0] == "-" and "s" in option)
        values = option.count("o") + option.count("O")
        if not all(value.stays_one for value in rest[:values]):
            raise UnclearError("the value of an option is not known before it runs")
        del rest[:values]
    if takes_text:
        found.text(rest[0] if rest else ANYTHING)
    elif takes_input or not rest:
        if standard_input is None:
            raise UnclearError("it runs what it reads from its input")
        found.text(standard_input)
    elif rest[0].prefix.startswith(OF_THE_SYSTEM):
        raise UnclearError("it runs what it reads from a device")


def _flock(words: Sequence[Word], found: Runs) -> None:
    wrapped = WRAPPERS["flock"].unwrap(words).words
    if wrapped and wrapped[0].text in ("-c", "--command"):
        found.text(wrapped[1] if wrapped[1:] else ANYTHING)
    elif wrapped:
        found.commands.append(wrapped)


def _xargs(words: Sequence[Word], found: Runs) -> None:
    wrapped = WRAPPERS["xargs"].unwrap(words)
    replacing = [value for name, value in wrapped.options.items() if name in ("I", "i", "replace")]
    if not wrapped.words:
        return
    if not replacing:
        found.commands.append((*wrapped.words, ANYTHING))
    elif replacing[0].text is None:
        raise UnclearError("the value of an option is not known before it runs")
    else:
        found.commands.append(tuple(_replaced(word, replacing[0].text or "{}") for word in wrapped.words))


def _find(words: Sequence[Word], found: Runs) -> None:
    rest = list(words)
    doubtful = False
    while rest:
        word = rest.pop(0)
        doubtful = doubtful or (word.text is None and word.may_be_an_option)
        if word.text in EXECUTING:
            end = next((index for index, other in enumerate(rest) if other.text in (";", "+")), len(rest))
            found.commands.append(tuple(_replaced(inner, "{}") for inner in rest[:end]))
            del rest[: end + 1]
        elif word.text == "-delete":
            found.commands.append((known("rm"), known("-r"), Word((None,))))
        elif word.text in WRITING and rest:
            found.writes.append(rest.pop(0))
    if doubtful:
        raise UnclearError("a word that is not known before it runs may be an action")


def _replaced(word: Word, placeholder: str) -> Word:
    if not any(part and placeholder in part for part in word.parts):
        return word
    pieces = "\0".join(part if part is not None else "" for part in word.parts).replace(placeholder, "\0")
    parts = [part or None for part in re.split("(\0)", pieces) if part]
    return word._replace(parts=tuple(None if part == "\0" else part for part in parts))


def _eval(words: Sequence[Word], found: Runs) -> None:
    for word in words:
        if word.text is None:
            raise UnclearError("the text that it runs is not known before")
    found.texts.append(" ".join(word.text or "" for word in words))


def _trap(words: Sequence[Word], found: Runs) -> None:
    rest = [word for word in words if word.text != "--"]
    if rest and rest[0].text not in ("-", "-l", "-p"):
        found.text(rest[0])


def _su(words: Sequence[Word], found: Runs) -> None:
    for index, word in enumerate(words):
        if word.text is None and word.may_be_an_option:
            raise UnclearError("an option is not known before it runs")
        if (word.text or "").startswith("--command="):
            return found.text(Word((word.prefix.removeprefix("--command="),)))
        if word.text == "--command" or re.fullmatch(r"-[a-zA-Z]*c", word.text or ""):
            return found.text(words[index + 1] if words[index + 1 :] else ANYTHING)
    raise UnclearError("it runs what it reads from its input")


def _alias(words: Sequence[Word], found: Runs) -> None:
    for word in words:
        found.text(Word((word.text.partition("=")[2],)) if word.text is not None else word)
    if words:
        raise UnclearError("an alias changes what later words mean")


def _source(words: Sequence[Word], _: Runs) -> None:
    if any(word.prefix.startswith(OF_THE_SYSTEM) for word in words):
        raise UnclearError("it runs what it reads from a device")


def _watch(words: Sequence[Word], found: Runs) -> None:
    _eval(WRAPPERS["watch"].unwrap(words).words, found)


def _unclear(_: Sequence[Word], __: Runs) -> None:
    raise UnclearError("what it runs is not looked into")


def _setting(words: Sequence[Word], found: Runs) -> None:
    for word in words:
        name = ASSIGNED_NAME.match(word.prefix)
        if name is not None and (word.text is not None or "=" in word.prefix):
            found.assigned.append(name[0])
        elif word.text is None:
            raise UnclearError("the name of a variable is not known before it runs")


def _tee(words: Sequence[Word], found: Runs) -> None:
    found.writes += [word for word in words if word.text is None or not word.prefix.startswith("-")]


def _uniq(words: Sequence[Word], found: Runs) -> None:
    operands = [word for word in words if word.text is None or not word.prefix.startswith(("-", "+"))]
    found.writes += operands[1:]


def _npx(words: Sequence[Word], found: Runs) -> None:
    for index, word in enumerate(words):
        if word.text in ("-c", "--call"):
            return found.text(words[index + 1] if words[index + 1 :] else ANYTHING)
        if word.prefix.startswith("--call="):
            return found.text(word._replace(parts=(word.prefix.removeprefix("--call="), *word.parts[1:])))
    return None


def _dd(words: Sequence[Word], found: Runs) -> None:
    for word in words:
        if word.prefix.startswith("of="):
            found.writes.append(word._replace(parts=(word.prefix.removeprefix("of="), *word.parts[1:])))
        elif word.may_be("of=x"):
            raise UnclearError("a word that is not known before it runs may name the file that it writes")


SPECIAL: dict[str, Callable[[Sequence[Word], Runs], None]] = {
    ".": _source,
    "alias": _alias,
    "dd": _dd,
    "declare": _setting,
    "eval": _eval,
    "export": _setting,
    "find": _find,
    "flock": _flock,
    "local": _setting,
    "npx": _npx,
    "read": _setting,
    "readonly": _setting,
    "runuser": _su,
    "source": _source,
    "su": _su,
    "tee": _tee,
    "trap": _trap,
    "typeset": _setting,
    "uniq": _uniq,
    "watch": _watch,
    "xargs": _xargs,
    **dict.fromkeys(NOT_KNOWN, _unclear),
}
