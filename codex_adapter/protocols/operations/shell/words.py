"""All commands that a text executes when `/bin/sh -c` gets it, also those that its commands run in their turn."""

from __future__ import annotations

from typing import NamedTuple

from codex_adapter.protocols.operations.shell.grammar import KEYWORDS, Reader
from codex_adapter.protocols.operations.shell.runners import Runs, runs
from codex_adapter.protocols.operations.shell.text import SimpleCommand, UnclearError, Word

__all__ = ["Command", "ShellWords", "shell_words"]

DEEPEST = 10
"""Texts inside texts: `sh -c 'eval "sh -c ..."'`."""


class Command(NamedTuple):
    """One command: its words, and the programs through which it is run (`sudo`, `xargs`), outermost first."""

    words: tuple[Word, ...]
    via: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """Its name without a path in front."""
        return self.words[0].program or ""


class ShellWords(NamedTuple):
    """What a text would do, as far as its words tell (A3)."""

    commands: tuple[Command, ...]
    """In the order in which they are written, those that a command runs after it."""
    reads: tuple[Word, ...]
    """The files that redirections read."""
    writes: tuple[Word, ...]
    """The files that redirections, `tee`, `dd` and `find` write."""
    assigned: tuple[str, ...]
    """The names of the variables that it sets."""
    unclear: tuple[str, ...]
    """Why the text may do more than is told here; empty where it is understood for certain."""


def shell_words(text: str) -> ShellWords:
    """The commands of a text, in every branch and at every depth, whether or not the run comes to them (A3)."""
    gathering = _Gathering()
    gathering.text(text, ())
    return ShellWords(
        tuple(gathering.commands),
        tuple(dict.fromkeys(gathering.reads)),
        tuple(dict.fromkeys(gathering.writes)),
        tuple(dict.fromkeys(gathering.assigned)),
        tuple(dict.fromkeys(gathering.unclear)),
    )


class _Gathering:
    """Collects what the texts and their commands do."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.reads: list[Word] = []
        self.writes: list[Word] = []
        self.assigned: list[str] = []
        self.unclear: list[str] = []

    def text(self, text: str, via: tuple[str, ...]) -> None:
        """Reads a text; what was found before an error counts, for a shell executes it too."""
        found: list[SimpleCommand] = []
        try:
            _require_shallow(via)
            Reader(text, commands=found).read()
        except UnclearError as error:
            self.unclear.append(f"the command cannot be understood for certain: {error}")
        for command in found:
            self._simple(command, via)

    def _simple(self, command: SimpleCommand, via: tuple[str, ...]) -> None:
        self.assigned += command.assigned
        standard_input: Word | None = None
        for redirection in command.redirections:
            if redirection.names_a_file:
                (self.writes if redirection.writes else self.reads).append(redirection.target)
            if redirection.descriptor == 0:
                standard_input = redirection.document.body if redirection.document else None
        if command.words:
            self._command(command.words, via, standard_input)

    def _command(self, words: tuple[Word, ...], via: tuple[str, ...], standard_input: Word | None) -> None:
        program = words[0].program
        if program is None:
            self.unclear.append("the name of a command is not known before it runs")
            return
        self.commands.append(Command(words, via))
        found = Runs()
        try:
            _require_shallow(via)
            _require_no_keyword(program, via)
            runs(words, standard_input, found)
        except UnclearError as error:
            self.unclear.append(f"what '{program}' would run is not certain: {error}")
        self.assigned += found.assigned
        self.writes += found.writes
        via = (*via, program)
        for text in found.texts:
            self.text(text, via)
        for inner in found.commands:
            if inner:
                self._command(inner, via, standard_input)


def _require_shallow(via: tuple[str, ...]) -> None:
    if len(via) > DEEPEST:
        raise UnclearError("it is nested too deeply")


def _require_no_keyword(program: str, via: tuple[str, ...]) -> None:
    if via and program in KEYWORDS:
        raise UnclearError("shells differ about a keyword there")
