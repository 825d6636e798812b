"""Find all commands that `/bin/sh -c` executes for a text, including those that its commands run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from codex_adapter.protocols.operations.shell.builtins import is_subscript, require_plain
from codex_adapter.protocols.operations.shell.effects import Effects
from codex_adapter.protocols.operations.shell.grammar import KEYWORDS, Reader
from codex_adapter.protocols.operations.shell.runners import is_known, is_runner, runs
from codex_adapter.protocols.operations.shell.text import Script, SimpleCommand, UnclearError, Word

__all__ = ["NAME_NOT_KNOWN", "Command", "ShellWords", "shell_words"]

NAME_NOT_KNOWN = "the name of a command is unknown before it runs"
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
DEEPEST = 10
"""The limit of nested texts: `sh -c 'eval "sh -c ..."'`."""


class Command(NamedTuple):
    """A command: its words, and the programs that run it (`sudo`, `xargs`), outermost first."""

    words: tuple[Word, ...]
    via: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The name of the program without its path."""
        return self.words[0].program or ""


class ShellWords(NamedTuple):
    """The effects of a text that its words show (A3)."""

    commands: tuple[Command, ...]
    """All commands in order. The commands that a command runs are after it."""
    counts: tuple[Command, ...]
    """Commands with the same effect, for rules that deny or delay: `git restore` for `git checkout a b`."""
    runners: tuple[Command, ...]
    """The commands that run others by unknown rules."""
    unknown: tuple[Command, ...]
    """The commands that may run their arguments."""
    values: tuple[str, ...]
    """The known parts of the values that variables get."""
    directories: tuple[Word, ...]
    """The directories in which options run commands, as with `env -C`."""
    reads: tuple[Word, ...]
    """The files that redirections read."""
    writes: tuple[Word, ...]
    """The files that redirections, `tee`, `dd`, `find` and `git config` write."""
    assigned: tuple[str, ...]
    """The names of the variables that it sets."""
    unclear: tuple[str, ...]
    """Reasons why the text may have other effects; empty if its meaning is certain."""


def shell_words(text: str, values: Iterable[str] = ()) -> ShellWords:
    """Return the commands of a text, in all branches and at all depths, even if the shell does not reach them.

    `values` are those of its environment variables (A3).
    """
    collector = _Collector()
    for value in values:
        collector.script.note_value(value)
    collector.text(text, ())
    if collector.script.evaluates and collector.script.has_subscript:
        collector.unclear.append("a shell may execute the subscript in a value that it evaluates")
    return ShellWords(
        tuple(collector.commands),
        tuple(dict.fromkeys(collector.counts)),
        tuple(dict.fromkeys(collector.runners)),
        tuple(dict.fromkeys(collector.unknown)),
        tuple(dict.fromkeys(collector.script.values)),
        tuple(dict.fromkeys(collector.directories)),
        tuple(dict.fromkeys(collector.reads)),
        tuple(dict.fromkeys(collector.writes)),
        tuple(dict.fromkeys(collector.assigned)),
        tuple(dict.fromkeys(collector.unclear)),
    )


class _Collector:
    """A collector of the effects of texts and their commands."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.counts: list[Command] = []
        self.runners: list[Command] = []
        self.unknown: list[Command] = []
        self.directories: list[Word] = []
        self.script = Script()
        self.reads: list[Word] = []
        self.writes: list[Word] = []
        self.assigned: list[str] = []
        self.unclear: list[str] = []

    def text(self, text: str, via: tuple[str, ...]) -> None:
        """Read a text. Commands before an error count, because a shell executes them too."""
        script = Script()
        try:
            _require_shallow(via)
            Reader(text, script=script).read()
        except UnclearError as error:
            self.unclear.append(f"the meaning of the command is not certain: {error}")
        self.unclear += script.doubts
        self.script.values += script.values
        self.script.evaluates = self.script.evaluates or script.evaluates
        self.script.has_subscript = self.script.has_subscript or script.has_subscript
        for command in script.commands:
            self._simple(command, via)

    def _simple(self, command: SimpleCommand, via: tuple[str, ...]) -> None:
        self.assigned += command.assigned
        standard_input: Word | None = None
        for redirection in command.redirections:
            if redirection.names_a_file:
                (self.writes if redirection.writes else self.reads).append(redirection.target)
            if redirection.descriptor == 0:
                standard_input = redirection.document.body if redirection.document else None
                reads = not command.words or command.words[0].program in ("read", "mapfile", "readarray")
                if reads and standard_input:
                    self._note_subscripts((standard_input,))
                    self.script.values += [part for part in standard_input.parts if part]
        if command.words:
            self._command(command.words, via, standard_input)

    def _note_subscripts(self, words: Iterable[Word]) -> None:
        self.script.has_subscript = self.script.has_subscript or any(map(is_subscript, words))

    def _command(self, words: tuple[Word, ...], via: tuple[str, ...], standard_input: Word | None) -> None:
        program = words[0].program
        if program is None:
            self.unclear.append(NAME_NOT_KNOWN)
            return
        command = Command(words, via)
        self.commands.append(command)
        self._note_subscripts(words[1:])
        for word in words[1:]:
            if (match := ASSIGNMENT.match(word.prefix)) is not None:
                self.script.note_value(word.prefix[match.end() :])
        found = Effects()
        try:
            _require_shallow(via)
            _require_no_keyword(program, via)
            require_plain(program, words[1:], self.script)
            runs(words, standard_input, found)
        except UnclearError as error:
            self.unclear.append(f"the commands that '{program}' runs are not certain: {error}")
            self.runners += [command] if is_runner(words) else []
        self.unknown += [] if is_known(words) else [command]
        self.assigned += found.assigned
        self.writes += found.writes
        self.directories += found.directories
        via = (*via, program)
        self.counts += [Command(counted, via) for counted in found.counts]
        for text in found.texts:
            self.text(text, via)
        for inner in found.commands:
            if inner:
                self._command(inner, via, standard_input)


def _require_shallow(via: tuple[str, ...]) -> None:
    if len(via) > DEEPEST:
        raise UnclearError("it is nested too deeply")


def _require_no_keyword(program: str, via: tuple[str, ...]) -> None:
    if program.startswith("=") or (via and program in KEYWORDS):
        raise UnclearError("shells differ about a word there")
