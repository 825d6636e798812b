"""Match commands with rules: `git -C x push` matches `git push`, and `/bin/rm -fr x` matches `rm -r` (A4)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Literal

from codex_adapter.protocols.operations.shell.text import Word
from codex_adapter.protocols.operations.shell.words import Command

__all__ = ["Match", "is_allowed", "is_named", "match"]

Match = Literal["yes", "maybe", "no"]
"""Whether a command matches. `maybe` means that it depends on words that are unknown before the run."""

CLUSTER = re.compile(r"-[A-Za-z]{2,3}")
"""Several options of one letter, as in `rm -rf`. For some programs, this is one long option."""
MOST_READINGS = 16
"""The limit of possible positions of the first operand. With more, its position is unknown."""
SYSTEM_DIRECTORIES = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin")
VALUED = {
    "git": {"-C", "--git-dir", "--work-tree", "--namespace"},
    "npm": {"--prefix", "-C", "-w", "--workspace", "--registry", "--loglevel"},
    "pnpm": {"-C", "--dir", "-F", "--filter"},
    "yarn": {"--cwd"},
    "cargo": {"-C", "--config", "--color", "-Z"},
    "docker": {"-H", "--host", "--context", "--config", "-l", "--log-level"},
    "kubectl": {"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "-s"},
    "make": {"-C", "-f", "-I", "-j"},
    "uv": {"--directory", "--project"},
}
"""Options between a program's name and its subcommand whose value is the next word."""
FLAGS = {
    "git": {"-p", "-P", "--paginate", "--no-pager", "--bare", "--no-replace-objects", "--literal-pathspecs"},
    "npm": {"-g", "--global", "-s", "--silent", "--no-audit", "--no-fund", "-y", "--yes"},
    "cargo": {"-q", "--quiet", "-v", "--verbose", "--locked", "--offline", "--frozen"},
}
"""Options in that position without a value."""
ABBREVIATING = {"npm": {"un"}}
"""Programs that accept abbreviated subcommands. The values are subcommands that only look like abbreviations."""
TOOLCHAINS = {"cargo", "clippy-driver", "rustc", "rustdoc", "rustfmt"}
"""Programs whose first argument, if it begins with `+`, is the toolchain that executes them."""


def match(rule: str, command: Command) -> Match:
    """Return whether a command matches a rule that holds it back (A4)."""
    name, *wanted = rule.split()
    if not is_named(name, command):
        return "no"
    arguments = command.words[1:]
    leading = [word for word in wanted if not _is_unordered(word)]
    results = [_find_anywhere(word, arguments) for word in wanted if _is_unordered(word)]
    return _all_match([_leads(leading, command.program, arguments), *results])


def is_allowed(rule: str, command: Command) -> bool:
    """Return whether a command certainly matches a rule that allows it: no path, no options in between (A4)."""
    name, *wanted = rule.split()
    first = command.words[0]
    directory, _, program = (first.text or "").rpartition("/")
    if first.text != name and (program != name or directory not in SYSTEM_DIRECTORIES):
        return False
    arguments = list(command.words[1:])
    while arguments and wanted and not wanted[0].startswith("-") and arguments[0].prefix.startswith("-"):
        option = arguments.pop(0).text
        if option in VALUED.get(name, ()) and arguments and arguments[0].stays_one:
            arguments.pop(0)
        elif option not in FLAGS.get(name, ()):
            return False
    return len(arguments) >= len(wanted) and all(
        word.text is not None and any(fnmatchcase(word.text, pattern) for pattern in patterns.split("|"))
        for word, patterns in zip(arguments, wanted, strict=False)
    )


def is_named(name: str, command: Command) -> bool:
    """Return whether a command runs the program of a rule (A4)."""
    return fnmatchcase(command.words[0].text or "" if "/" in name else command.program, name)


def _is_unordered(word: str) -> bool:
    """Return whether a word of a rule may match any argument: an option, a pattern, a path or a value."""
    return word.startswith("-") or any(character in word for character in "*?=/")


def _all_match(results: Sequence[Match]) -> Match:
    return "no" if "no" in results else "maybe" if "maybe" in results else "yes"


def _any_matches(results: Collection[Match]) -> Match:
    return "yes" if "yes" in results else "maybe" if "maybe" in results else "no"


def _find_anywhere(wanted: str, arguments: Sequence[Word]) -> Match:
    if "|" in wanted:
        return _any_matches({_find_anywhere(each, arguments) for each in wanted.split("|")})
    if CLUSTER.fullmatch(wanted):
        letters = _all_match([_find_anywhere(f"-{letter}", arguments) for letter in wanted[1:]])
        return _any_matches([letters, "yes" if any(word.text == wanted for word in arguments) else "no"])
    is_option = wanted.startswith("-")
    if wanted == "--":
        return "yes" if any(word.text == wanted for word in arguments) else "no"
    maybe = False
    for word in arguments:
        if word.text == "--" and is_option:
            break
        if word.text is None:
            maybe = maybe or (word.may_be_an_option if is_option else _may_fit(wanted, word))
        elif _is_option(wanted, word.text) if is_option else fnmatchcase(word.text, wanted):
            return "yes"
    return "maybe" if maybe else "no"


def _is_option(wanted: str, word: str) -> bool:
    if len(wanted) == 2:
        return word.startswith("-") and not word.startswith("--") and wanted[1] in word[1:]
    name = word.partition("=")[0]
    abbreviates = len(name) > 2 and name.startswith("--") and wanted.startswith(name)
    return abbreviates or wanted in (name, word) or fnmatchcase(name, wanted)


def _may_fit(pattern: str, word: Word) -> bool:
    literal = re.split(r"[*?\[]", pattern)[0]
    return word.splits or word.prefix.startswith(literal) or literal.startswith(word.prefix)


def _leads(wanted: Sequence[str], program: str, arguments: Sequence[Word]) -> Match:
    """Return whether the operands begin with the wanted words, for any reading of the options."""
    if not wanted:
        return "yes"
    starts = list(islice(_operands(program, arguments), MOST_READINGS + 1))
    if len(starts) > MOST_READINGS:
        return "maybe"
    return _any_matches({_leads_at(wanted, program, arguments, start) for start in starts})


def _leads_at(wanted: Sequence[str], program: str, arguments: Sequence[Word], start: int) -> Match:
    word, rest = arguments[start], arguments[start + 1 :]
    names = wanted[0].split("|")
    if word.text is None:
        return "maybe" if not word.stays_one or any(map(word.may_be, names)) else "no"
    return _leads(wanted[1:], program, rest) if _is_one_of(names, word.text, program) else "no"


def _is_one_of(names: Sequence[str], word: str, program: str) -> bool:
    if word in names:
        return True
    abbreviates = program in ABBREVIATING and len(word) > 1 and word not in ABBREVIATING[program]
    return abbreviates and any(name.startswith(word) for name in names)


def _operands(program: str, arguments: Sequence[Word]) -> Iterator[int]:
    """Yield the possible positions of the first operand: after an unknown option, it may be a value or an operand."""
    index = 0
    if program in TOOLCHAINS and arguments and arguments[0].prefix.startswith("+"):
        index = 1
    while index < len(arguments):
        word = arguments[index]
        if not word.may_be_an_option:
            yield index
            return
        if word.text is None:
            yield index  # it may be an operand as well
        elif word.text in VALUED.get(program, ()):
            index += 1
            if index < len(arguments) and not arguments[index].stays_one:
                yield index
        elif _may_have_value(program, word.text) and index + 2 < len(arguments) and _is_operand(arguments[index + 1]):
            yield index + 1
            index += 1
        index += 1


def _may_have_value(program: str, option: str) -> bool:
    return option not in FLAGS.get(program, ()) and "=" not in option and option != "--"


def _is_operand(word: Word) -> bool:
    return not word.may_be_an_option
