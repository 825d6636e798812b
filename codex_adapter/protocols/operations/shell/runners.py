"""Find the commands that a command runs: `sudo rm`, `sh -c 'rm'`, `find -exec rm`, `eval "rm"` (A3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from codex_adapter.protocols.operations.shell.effects import Effects
from codex_adapter.protocols.operations.shell.git import git
from codex_adapter.protocols.operations.shell.options import UNKNOWN, executed_by_options
from codex_adapter.protocols.operations.shell.plain_programs import is_plain, without_version
from codex_adapter.protocols.operations.shell.scripts import sed, sqlite
from codex_adapter.protocols.operations.shell.text import UnclearError, Word, known
from codex_adapter.protocols.operations.shell.wrappers import NOT_KNOWN, SHELLS, WRAPPERS, Wrapped

__all__ = ["Input", "is_known", "is_runner", "runs"]

ASSIGNED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?==|$)")
EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
WRITING = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
OF_THE_SYSTEM = ("/dev/", "/proc/")
Input = Word | None
"""The input of a command, if it is a here-document."""


def runs(words: Sequence[Word], standard_input: Input, found: Effects) -> None:
    """Add the commands that the command of `words` runs to `found`. Raises UnclearError if it may run more."""
    name = _name(words)
    if name in SHELLS:
        _shell(words[1:], standard_input, found)
    elif name in SPECIAL:
        SPECIAL[name](words[1:], found)
    elif name in WRAPPERS:
        wrapped = WRAPPERS[name].unwrap(words[len(name.split()) :])
        if name == "time":
            found.writes += [value for option, value in wrapped.options.items() if option in ("o", "output")]
        _add_wrapped(name, wrapped, standard_input, found)
    else:
        for text in executed_by_options(name, words[1:]):
            found.text(text)


def is_runner(words: Sequence[Word]) -> bool:
    """Return whether a command is known to run some of its arguments."""
    name = _name(words)
    return name in SHELLS or name in WRAPPERS or name in RUNNERS


def is_known(words: Sequence[Word]) -> bool:
    """Return whether the arguments that a command runs are known (A11)."""
    return is_runner(words) or (_name(words) in SPECIAL and _name(words) not in HALF_KNOWN) or is_plain(words)


def _name(words: Sequence[Word]) -> str:
    """Return the name of a command as in the tables: with its subcommand, or without its version."""
    program = words[0].program or ""
    with_subcommand = f"{program} {words[1].text}" if len(words) > 1 else program
    if with_subcommand in WRAPPERS:
        return with_subcommand
    return program if program in WRAPPERS or program in SPECIAL or program in SHELLS else without_version(program)


def _add_wrapped(name: str, wrapped: Wrapped, standard_input: Input, found: Effects) -> None:
    wrapper = WRAPPERS[name]
    found.assigned += wrapped.assigned
    found.directories += [value for option, value in wrapped.options.items() if option in wrapper.directory]
    if wrapped.words:
        found.commands.append(wrapped.words)
    elif wrapper.or_shell:
        if standard_input is None:
            raise UnclearError("it runs commands from its input")
        found.text(standard_input)


def _shell(words: Sequence[Word], standard_input: Input, found: Effects) -> None:
    rest = list(words)
    takes_text = takes_input = False
    while rest and (rest[0].may_be_an_option or rest[0].prefix.startswith("+")):
        option = rest.pop(0).text
        if option is None:
            raise UnclearError("an option is unknown before it runs")
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
            raise UnclearError("the value of an option is unknown before it runs")
        del rest[:values]
    if takes_text:
        found.text(rest[0] if rest else UNKNOWN)
    elif takes_input or not rest:
        if standard_input is None:
            raise UnclearError("it runs commands from its input")
        found.text(standard_input)
    elif rest[0].prefix.startswith(OF_THE_SYSTEM):
        raise UnclearError("it runs commands from a device")


def _flock(words: Sequence[Word], found: Effects) -> None:
    wrapped = WRAPPERS["flock"].unwrap(words).words
    if wrapped and wrapped[0].text in ("-c", "--command"):
        found.text(wrapped[1] if wrapped[1:] else UNKNOWN)
    elif wrapped:
        found.commands.append(wrapped)


def _xargs(words: Sequence[Word], found: Effects) -> None:
    wrapped = WRAPPERS["xargs"].unwrap(words)
    replacing = [value for name, value in wrapped.options.items() if name in ("I", "i", "replace")]
    if not wrapped.words:
        return
    if not replacing:
        found.commands.append((*wrapped.words, UNKNOWN))
    elif replacing[0].text is None:
        raise UnclearError("the value of an option is unknown before it runs")
    else:
        found.commands.append(tuple(_replace_placeholder(word, replacing[0].text or "{}") for word in wrapped.words))


def _find(words: Sequence[Word], found: Effects) -> None:
    rest = list(words)
    doubtful = False
    while rest:
        word = rest.pop(0)
        doubtful = doubtful or (word.text is None and word.may_be_an_option)
        if word.text in EXECUTING:
            end = next((index for index, other in enumerate(rest) if other.text in (";", "+")), len(rest))
            found.commands.append(tuple(_replace_placeholder(inner, "{}") for inner in rest[:end]))
            found.directories += [UNKNOWN] if word.text.endswith("dir") else []
            del rest[: end + 1]
        elif word.text == "-delete":
            found.commands.append((known("rm"), known("-r"), Word((None,))))
        elif word.text in WRITING and rest:
            found.writes.append(rest.pop(0))
    if doubtful:
        raise UnclearError("a word that may be an action is unknown before it runs")


def _replace_placeholder(word: Word, placeholder: str) -> Word:
    if not any(part and placeholder in part for part in word.parts):
        return word
    pieces = "\0".join(part if part is not None else "" for part in word.parts).replace(placeholder, "\0")
    parts = [part or None for part in re.split("(\0)", pieces) if part]
    return word._replace(parts=tuple(None if part == "\0" else part for part in parts))


def _eval(words: Sequence[Word], found: Effects) -> None:
    for word in words:
        if word.text is None:
            raise UnclearError("the text that it runs is unknown before it runs")
    found.texts.append(" ".join(word.text or "" for word in words))


def _trap(words: Sequence[Word], found: Effects) -> None:
    rest = [word for word in words if word.text != "--"]
    if rest and rest[0].text not in ("-", "-l", "-p"):
        found.text(rest[0])


def _su(words: Sequence[Word], found: Effects) -> None:
    for index, word in enumerate(words):
        if word.text is None and word.may_be_an_option:
            raise UnclearError("an option is unknown before it runs")
        if (word.text or "").startswith("--command="):
            return found.text(Word((word.prefix.removeprefix("--command="),)))
        if word.text == "--command" or re.fullmatch(r"-[a-zA-Z]*c", word.text or ""):
            return found.text(words[index + 1] if words[index + 1 :] else UNKNOWN)
    raise UnclearError("it runs commands from its input")


def _alias(words: Sequence[Word], found: Effects) -> None:
    for word in words:
        found.text(Word((word.text.partition("=")[2],)) if word.text is not None else word)
    if words:
        raise UnclearError("an alias changes the meaning of later words")


def _source(words: Sequence[Word], _: Effects) -> None:
    if any(word.prefix.startswith(OF_THE_SYSTEM) for word in words):
        raise UnclearError("it runs commands from a device")


def _watch(words: Sequence[Word], found: Effects) -> None:
    _eval(WRAPPERS["watch"].unwrap(words).words, found)


def _unclear(_: Sequence[Word], __: Effects) -> None:
    raise UnclearError("the commands that it runs are not examined")


def _setting(words: Sequence[Word], found: Effects) -> None:
    for word in words:
        name = ASSIGNED_NAME.match(word.prefix)
        if name is not None and (word.text is not None or "=" in word.prefix):
            found.assigned.append(name[0])
        elif word.text is None:
            raise UnclearError("the name of a variable is unknown before it runs")


def _tee(words: Sequence[Word], found: Effects) -> None:
    found.writes += [word for word in words if word.text is None or not word.prefix.startswith("-")]


def _uniq(words: Sequence[Word], found: Effects) -> None:
    operands = [word for word in words if word.text is None or not word.prefix.startswith(("-", "+"))]
    found.writes += operands[1:]


def _npx(words: Sequence[Word], found: Effects) -> None:
    for index, word in enumerate(words):
        if word.text in ("-c", "--call"):
            return found.text(words[index + 1] if words[index + 1 :] else UNKNOWN)
        if word.prefix.startswith("--call="):
            return found.text(word._replace(parts=(word.prefix.removeprefix("--call="), *word.parts[1:])))
    first = next((index for index, word in enumerate(words) if not word.may_be_an_option), len(words))
    found.counts += [tuple(words[first:])] if words[first:] else []
    return None


def _dd(words: Sequence[Word], found: Effects) -> None:
    for word in words:
        if word.prefix.startswith("of="):
            found.writes.append(word._replace(parts=(word.prefix.removeprefix("of="), *word.parts[1:])))
        elif word.may_be("of=x"):
            raise UnclearError("a word that may name the written file is unknown before it runs")


def _kill(words: Sequence[Word], found: Effects) -> None:
    rest = list(words)
    if rest and rest[0].text in ("-s", "-n", "--signal"):
        del rest[:2]
    elif rest and rest[0].prefix.startswith("-") and rest[0].text != "--":
        del rest[0]
    if any(re.fullmatch(r"-0*1", word.text or "") for word in rest):
        found.counts.append((known("killall"),))


def _pager(words: Sequence[Word], _: Effects) -> None:
    if any(word.prefix.startswith("+") for word in words):
        raise UnclearError("it executes the text after a plus sign")


def _python(words: Sequence[Word], found: Effects) -> None:
    rest = list(words)
    while rest and rest[0].prefix.startswith("-") and rest[0].text not in ("-", "--"):
        word = rest.pop(0)
        option = re.fullmatch(r"-[a-zA-Z]*?([cmWX])(.*)", word.prefix, re.DOTALL)
        if option is None or option[1] in "cm":
            module = word._replace(parts=(option[2], *word.parts[1:])) if option and option[2] else None
            if option and option[1] == "m" and (module or rest):
                found.counts.append((module or rest[0], *(rest if module else rest[1:])))
            if option:
                return
        elif not option[2] and rest:
            rest.pop(0)


SPECIAL: dict[str, Callable[[Sequence[Word], Effects], None]] = {
    ".": _source,
    "alias": _alias,
    "bunx": _npx,
    "dd": _dd,
    "declare": _setting,
    "eval": _eval,
    "export": _setting,
    "find": _find,
    "flock": _flock,
    "git": git,
    "kill": _kill,
    "less": _pager,
    "local": _setting,
    "more": _pager,
    "npx": _npx,
    "pnpx": _npx,
    **dict.fromkeys(("pypy", "python"), _python),
    "read": _setting,
    "readonly": _setting,
    "runuser": _su,
    **dict.fromkeys(("gsed", "sed"), sed),
    "source": _source,
    **dict.fromkeys(("sqlite", "sqlite3"), sqlite),
    "su": _su,
    "tee": _tee,
    "trap": _trap,
    "typeset": _setting,
    "uniq": _uniq,
    "watch": _watch,
    "xargs": _xargs,
    **dict.fromkeys(NOT_KNOWN, _unclear),
}
RUNNERS = frozenset({"eval", "flock", "runuser", "su", "watch", "xargs", *NOT_KNOWN})
"""Programs that run their arguments, or run an argument as a text."""
HALF_KNOWN = frozenset({"bunx", "npx", "pnpx"})
"""Programs that may run more of their arguments than these rules find."""
