"""Find the commands and files that `git` executes, writes or discards because of its arguments (A3, A5)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from codex_adapter.protocols.operations.shell.effects import Effects
from codex_adapter.protocols.operations.shell.git_settings import runs_nothing
from codex_adapter.protocols.operations.shell.options import UNKNOWN, executed_by_options, option_values
from codex_adapter.protocols.operations.shell.text import UnclearError, Word, known

__all__ = ["git"]

VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"})
UNCLEAR = ("--config-env", "--exec-path=")
"""Options that use other programs, or settings that are not in the command."""
MAKING_A_BRANCH = re.compile(r"-[a-zA-Z]*[bBdt].*|--(orphan|detach|track)(=.*)?")
RUNNING_OPERANDS = {"bisect": "run", "merge-index": "", "remote-ext": "", "submodule": "foreach"}
"""Subcommands that execute their operands; for some, those after this word."""
FROM_PATHS = ("--pathspec-f", "--ours", "--theirs")
READING = ("--get", "--list", "-l", "get", "list")
CHANGING = ("--add", "--replace-all", "--unset", "--rename-section", "--remove-section", "--edit", "-e")
CHANGING_NAMES = ("set", "unset", "rename-section", "remove-section", "edit")
VALUED_IN_CONFIG = ("-f", "--file", "--type", "-t", "--default", "--blob", "--comment", "--value")
ELSEWHERE = ("--global", "--system", "--blob")


def git(words: Sequence[Word], found: Effects) -> None:
    """Add to `found` the effects that rules for the subcommand do not cover (A3, A5)."""
    rest, directories, doubtful = list(words), list[Word](), False
    while rest and rest[0].may_be_an_option:
        option = rest.pop(0).text
        value = rest.pop(0) if option in VALUED and rest else None
        if option is None or option.startswith(UNCLEAR):
            doubtful = True
        elif option == "-c":
            doubtful = not runs_nothing(value or UNKNOWN, found) or doubtful
        elif option == "-C" and value is not None:
            directories.append(value)
    if rest:
        doubtful = _subcommand(rest[0].text, rest[1:], directories, found) or doubtful
    if doubtful:
        raise UnclearError("a setting or an option may execute something")


def _subcommand(name: str | None, arguments: Sequence[Word], directories: Sequence[Word], found: Effects) -> bool:
    """Add the effects of a subcommand to `found`. Return whether it may execute more."""
    doubtful = False
    for text in executed_by_options(f"git {name}", arguments):
        if text.text is None:
            doubtful = True
        else:
            found.texts.append(text.text)
    for word in arguments:
        if word.prefix.startswith("ext::"):
            found.text(word._replace(parts=(word.prefix.removeprefix("ext::"), *word.parts[1:])))
    if name == "checkout" and _discards(arguments):
        found.counts.append((known("git"), known("restore"), *arguments))
    elif name == "config":
        _config(arguments, directories, found)
    elif name == "clone":
        settings = [value for option in ("-c", "--config") for value in option_values(option, arguments)]
        doubts = [not runs_nothing(value, found) for value in settings]
        return any(doubts) or doubtful
    elif name in RUNNING_OPERANDS:
        return _operands(name, arguments, found) or doubtful
    return doubtful


def _operands(name: str, arguments: Sequence[Word], found: Effects) -> bool:
    rest = _without_options(arguments)
    if RUNNING_OPERANDS[name]:
        if not rest or rest[0].text != RUNNING_OPERANDS[name]:
            return bool(rest) and rest[0].text is None
        rest = _without_options(rest[1:])
    elif name == "remote-ext":
        found.texts += [word.text for word in rest if word.text is not None]
    if len(rest) == 1 and rest[0].text is not None:
        found.texts.append(rest[0].text)
    elif rest:
        found.commands.append(tuple(rest))
    return True


def _without_options(words: Sequence[Word]) -> Sequence[Word]:
    first = next((index for index, word in enumerate(words) if not word.may_be_an_option), len(words))
    return words[first:]


def _discards(arguments: Sequence[Word]) -> bool:
    """Return whether `git checkout` overwrites files instead of changing the branch."""
    if any(word.prefix.startswith(FROM_PATHS) for word in arguments):
        return True
    if any(MAKING_A_BRANCH.fullmatch(word.text or "") for word in arguments):
        return False
    operands = [word for word in arguments if not word.prefix.startswith("-")]
    return len(operands) > 1 or any(_is_path(word.text or "") for word in operands)


def _is_path(text: str) -> bool:
    surely = text.startswith(("./", "../", "/", ":")) or text.endswith("/") or any(sign in text for sign in "*?[")
    return surely or (text != "" and posixpath.normpath(text) in (".", ".."))


def _config(arguments: Sequence[Word], directories: Sequence[Word], found: Effects) -> None:
    operands: list[Word] = []
    target: Word | None = known(".git/config")
    changes = reads = False
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.prefix.partition("=")
        if not word.prefix.startswith("-"):
            operands.append(word)
            continue
        changes = changes or any(len(name) > 1 and option.startswith(name) for option in CHANGING)
        reads = reads or name.startswith(READING)
        target = None if name in ELSEWHERE else target
        if name in VALUED_IN_CONFIG or name.startswith("-f"):
            following = word._replace(parts=(value, *word.parts[1:])) if equals else rest.pop(0) if rest else UNKNOWN
            if name.startswith("-f") and len(name) > 2:
                following = word._replace(parts=(word.prefix[2:], *word.parts[1:]))
            target = _join_paths(directories, following) if name.startswith(("-f", "--file")) else target
    first = operands[0].text if operands else None
    changes = changes or first in CHANGING_NAMES or (len(operands) > 1 and not reads and first not in READING)
    if changes and target is not None:
        found.writes.append(target)


def _join_paths(directories: Sequence[Word], file: Word) -> Word:
    texts = [word.text for word in (*directories, file)]
    if file.prefix.startswith("/"):
        return file
    return UNKNOWN if None in texts else known(posixpath.join(*(text or "" for text in texts)))
