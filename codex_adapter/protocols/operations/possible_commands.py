"""Find the commands that a program may run because its arguments contain them: `strange-tool sudo id` (A11)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from codex_adapter.protocols.operations.shell.text import Word, known
from codex_adapter.protocols.operations.shell.words import NAME_NOT_KNOWN, Command, ShellWords, shell_words

__all__ = ["MOST_POSSIBLE", "Holds", "possible_commands"]

VALUE = re.compile(r"--?[A-Za-z][\w.-]*=|[A-Za-z_][\w.]*=|-[A-Za-z](?=[^-])|=", re.DOTALL)
"""The beginning of a word before a value that may be a command: `--run=`, `RUN=`, `-c`; in zsh, `=` alone."""
SEVERAL_WORDS = re.compile(r"[\s;&|()`$<>]")
NAME = re.compile(r"\w[\w.+-]*")
QUOTE = re.compile(r"\\\n|[\\'\"]")
DEEPEST = 4
"""The limit of nested texts."""
MOST_POSSIBLE = 32
"""The limit of commands that are examined for one program, or for one unknown word."""

PRINTING = frozenset({"basename", "dirname", "echo", "expr", "print", "printf", "set"})
"""Programs whose output may become words that are unknown before the run."""

Holds: TypeAlias = Callable[[Word], Sequence[Word]]
"""Return the programs of rules that a word names or, with unknown parts, may name."""


def possible_commands(command: Command, found: ShellWords, holds: Holds, depth: int = 0) -> Iterator[Command]:
    """Yield the commands with programs of rules that a program may run: an argument with those after it, or a text.

    `found` is the text with the command. An unknown word may become one of its words and values.
    """
    words, via = command.words, (*command.via, command.program)
    sources: list[tuple[Word, ...]] | None = None
    for index in range(1, len(words)):
        word, rest = words[index], words[index + 1 :]
        value = VALUE.match(word.prefix)
        texts = [] if value is None else [word._replace(parts=(word.prefix[value.end() :], *word.parts[1:]))]
        texts += [word] if SEVERAL_WORDS.search(word.text or "") else []
        found_here = [(first, *rest) for first in (holds(word) if _may_be_a_program(word) else ())]
        found_here += _of_braces(word, rest, holds)
        if word.text is None:
            sources = list(islice(_sources(found, holds), MOST_POSSIBLE)) if sources is None else sources
            found_here += [(*source, *rest) for source in sources]
        for inner in found_here:
            yield Command(inner, via)
        for text in texts:
            for possible in _of_text(text, rest, holds, depth):
                yield possible._replace(via=(*via, *possible.via))


def _of_text(word: Word, following: Sequence[Word], holds: Holds, depth: int) -> Iterator[Command]:
    text = word.text
    if text is None:
        return
    if not SEVERAL_WORDS.search(text):
        yield from (Command((first, *following)) for first in holds(word))
        return
    found = shell_words(text)
    not_understood = found.unclear or found.assigned or depth >= DEEPEST
    names = NAME.findall(QUOTE.sub("", text)) if not_understood else ()
    if NAME_NOT_KNOWN in found.unclear or any(holds(known(name)) for name in names):
        yield Command((Word((None,)),))
    if depth >= DEEPEST:
        return
    for command in (*found.commands, *found.counts):
        yield from (command._replace(words=(first, *command.words[1:])) for first in holds(command.words[0]))
    for command in (*found.unknown, *found.runners):
        yield from possible_commands(command, found, holds, depth + 1)


def _sources(found: ShellWords, holds: Holds) -> Iterator[tuple[Word, ...]]:
    """Yield the words that an unknown word may become: the value of a variable, or the output of a command."""
    for value in found.values:
        yield from (command.words for command in _of_text(known(value.strip()), (), holds, DEEPEST - 1))
    for command in found.commands:
        if command.program not in PRINTING:
            continue
        for index, word in enumerate(command.words[1:], 2):
            if word.text is not None:
                rest = command.words[index:]
                yield from (inner.words for inner in _of_text(word, rest, holds, DEEPEST - 1))


def _of_braces(word: Word, rest: Sequence[Word], holds: Holds) -> Iterator[tuple[Word, ...]]:
    pieces = [known(piece) for piece in re.split(r"[{},]", word.raw) if piece] if "{" in word.raw else []
    for index, piece in enumerate(pieces, 1):
        yield from ((first, *pieces[index:], *rest) for first in holds(piece))


def _may_be_a_program(word: Word) -> bool:
    """Return whether a word is a name, or a path in a directory of programs: not `src/init`."""
    directory = posixpath.dirname(word.text or "")
    return not directory or posixpath.basename(posixpath.normpath(directory)) in ("bin", "sbin")
