"""Find builtins that execute their arguments in a shell other than dash: `[ -v 'a[$(rm b)]' ]` in bash (A10)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codex_adapter.protocols.operations.shell.text import Script, UnclearError, Word, names

__all__ = ["is_subscript", "require_plain"]

SUBSCRIPT = re.compile(r"\[.*(\$\(|\$\{|`)", re.DOTALL)
"""A subscript with a substitution, which the builtin evaluates."""
ELEMENT = re.compile(r"-?[A-Za-z_]\w*\[")
"""An element of an array in place of the name of a variable."""
EXECUTING_OPTIONS = {
    "[": "vR",
    "declare": "niaA",
    "enable": "fn",
    "export": "n",
    "hash": "pd",
    "jobs": "x",
    "local": "niaA",
    "mapfile": "Cc",
    "printf": "v",
    "readarray": "Cc",
    "readonly": "aA",
    "test": "vR",
    "typeset": "niaAFEZL",
    "unset": "n",
    "wait": "p",
}
"""Options of one letter with which a builtin runs a command, or evaluates the name of a variable."""
EVALUATING = names(
    "break continue exit getopts let print read return set shift sleep ulimit umask kill cd type"
) | frozenset(EXECUTING_OPTIONS)
"""Builtins with a number or the name of a variable that some shells evaluate."""
COUNTING = names("[ break continue exit let return shift test ulimit")
"""Builtins with a number in which some shells also evaluate a name."""
NAME = re.compile(r"[A-Za-z_]")
TAKING_NAMES = names("declare export getopts local mapfile printf read readarray readonly set typeset unset wait let")
UNCLEAR = names(
    "[[ autoload bind builtins compgen complete compopt emulate fc float functions integer nameref sched vared zargs "
    "zcompile zle zmodload"
)
"""Builtins of other shells that run or evaluate their arguments by rules that this module does not know."""


def is_subscript(word: Word) -> bool:
    """Return whether a shell that evaluates the word would run a command in its subscript."""
    return any(SUBSCRIPT.search(part) for part in word.parts if part)


def require_plain(program: str, arguments: Sequence[Word], script: Script) -> None:
    """Raise UnclearError if a shell may execute an argument of a builtin. Note an evaluated argument (A10)."""
    if program in UNCLEAR or (program == "hash" and any("=" in word.prefix for word in arguments)):
        raise UnclearError("shells differ about this builtin")
    if program not in EVALUATING:
        return
    if any(is_subscript(word) or (program in TAKING_NAMES and ELEMENT.match(word.prefix)) for word in arguments):
        raise UnclearError("shells differ about a subscript")
    letters = EXECUTING_OPTIONS.get(program, "")
    for word in _options(program, arguments):
        if not word.prefix.startswith("--") and any(letter in word.prefix[1:] for letter in letters):
            raise UnclearError("shells differ about an option of this builtin")
    if any(word.text is None or (program in COUNTING and NAME.search(word.text)) for word in arguments):
        script.evaluates = True


def _options(program: str, arguments: Sequence[Word]) -> list[Word]:
    if program in ("[", "test"):
        return [word for word in arguments if word.text in ("-v", "-R")]
    options: list[Word] = []
    for word in arguments:
        if word.text == "--" or not word.prefix.startswith(("-", "+")):
            break
        options.append(word)
    return options[:1] if program == "printf" else options
