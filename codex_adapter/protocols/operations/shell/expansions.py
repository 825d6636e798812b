"""Read quotes and expansions as dash and POSIX sh do, and the commands inside them.

Syntax that dash and other shells read differently (`$'...'`, `${x/a/b}`) is refused as unclear.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from codex_adapter.protocols.operations.shell.pieces import Pieces
from codex_adapter.protocols.operations.shell.text import Script, UnclearError

__all__ = ["Expansions"]

PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
OPERATION = re.compile(r":?[-=?+]|##?|%%?")
DEEPEST = 40
"""The limit of nested constructs. A deeper text is unclear."""


class Expansions(ABC):
    """A reader of `text` from `position`. `assigned` has the variables that expansions set."""

    def __init__(self, text: str, depth: int = 0, script: Script | None = None) -> None:
        if "\0" in text:
            raise UnclearError("the text has a NUL character")
        self.text = text
        self.depth = depth
        self.position = 0
        self.assigned: list[str] = []
        self.script = Script() if script is None else script
        self.deeper(0)

    @abstractmethod
    def commands_inside(self) -> None:
        """Read commands until after the `)` that ends a substitution."""

    @abstractmethod
    def commands_of(self, text: str) -> None:
        """Read the commands of a separate text, such as the text between backquotes."""

    def deeper(self, levels: int) -> None:
        """Change the depth of nested constructs by `levels`. Raises UnclearError above the limit."""
        self.depth += levels
        if self.depth > DEEPEST:
            raise UnclearError("it is nested too deeply")

    def character(self) -> str:
        """Return the next character, after any line continuation; empty at the end."""
        while self.text.startswith("\\\n", self.position):
            self.position += 2
        return self.text[self.position : self.position + 1]

    def takes(self, operator: str) -> bool:
        """Skip an operator if it is next, and return whether it was. It may be split by line continuations."""
        before = self.position
        for wanted in operator:
            if self.character() != wanted:
                self.position = before
                return False
            self.position += 1
        return True

    def single_quoted(self) -> str:
        """Read up to the closing single quote."""
        end = self.text.find("'", self.position)
        if end < 0:
            raise UnclearError("a quote is not closed")
        start, self.position = self.position, end + 1
        return self.text[start:end]

    def quoted(self, pieces: Pieces, end: str) -> None:
        """Read up to `end` as inside double quotes. An empty `end` is the end of the text of a here-document."""
        pieces.quote("")
        while character := self.character():
            self.position += 1
            if character == end:
                return
            following = self.text[self.position : self.position + 1]
            if character == "\\" and following and following in f"$`\\{end}":
                pieces.quote(following)
                self.position += 1
            elif character in "$`":
                self.expansion(character, pieces, quoted=True, document=not end)
            else:
                pieces.quote(character)
        if end:
            raise UnclearError("a quote is not closed")

    def expansion(self, character: str, pieces: Pieces, *, quoted: bool, document: bool = False) -> None:
        """Read the expansion after a dollar sign or a backquote. `document` is true in the text of a here-document."""
        if character == "`":
            self._backquoted(quoted=quoted, document=document)
            return pieces.expand(splits=not quoted)
        following = self.character()
        if following == "(":
            self.position += 1
            if self.takes("("):
                self._arithmetic()
            else:
                self.commands_inside()
        elif following == "{":
            self.position += 1
            if self._parameter(quoted=quoted) == "@":
                quoted = False
        elif match := PARAMETER.match(self.text, self.position):
            self.position = match.end() if match[0][0].isalpha() or match[0][0] == "_" else match.start() + 1
            quoted = quoted and following != "@"
        elif following == "[" or (not quoted and following in ("'", '"')):
            raise UnclearError("shells differ about what follows a dollar sign")
        else:
            return pieces.quote("$")
        return pieces.expand(splits=not quoted)

    def _backquoted(self, *, quoted: bool, document: bool) -> None:
        inside = []
        while (character := self.text[self.position : self.position + 1]) != "`":
            self.position += 1
            if not character:
                raise UnclearError("a backquote is not closed")
            if character == "\\":
                escaped = self.text[self.position : self.position + 1]
                self.position += 1
                if escaped == "\n" or (escaped == '"' and document):
                    raise UnclearError("shells differ about a backslash inside backquotes")
                if escaped not in "$`\\" and not (quoted and escaped == '"'):
                    inside.append("\\")
                character = escaped
            inside.append(character)
        self.position += 1
        self.commands_of("".join(inside))

    def _arithmetic(self) -> None:
        self.deeper(1)
        open_parentheses = 0
        while not (self.character() == ")" and open_parentheses == 0):
            character = self.character()
            self.position += 1
            if character in "$`" and character:
                self.script.evaluates = True
                self.expansion(character, Pieces(), quoted=True)
            elif not character or character in "'\"\\[":
                raise UnclearError("an arithmetic expansion is not plain")
            self.script.evaluates = self.script.evaluates or character.isalpha() or character == "_"
            open_parentheses += (character == "(") - (character == ")")
        if not self.takes("))"):
            raise UnclearError("an arithmetic expansion may also be a command")
        self.deeper(-1)

    def _parameter(self, *, quoted: bool) -> str:
        self.deeper(1)
        length = self.character() == "#" and self.text[self.position + 1 : self.position + 2] != "}"
        self.position += length
        self.character()
        name = PARAMETER.match(self.text, self.position)
        if name is None:
            raise UnclearError("shells differ about an expansion")
        self.position = name.end()
        operation = None if length or self.character() == "}" else OPERATION.match(self.text, self.position)
        if operation is not None:
            self.position = operation.end()
            if "=" in operation[0]:
                self.assigned.append(name[0])
            start = self.position
            self._value(quoted=quoted)
            value = self.text[start : self.position]
            self.script.values.append(value)
            if operation[0][-1] in "-=+" and re.search(r"[\['\"\\]", value):
                self.script.note_value(value)
        if not self.takes("}"):
            raise UnclearError("shells differ about an expansion")
        self.deeper(-1)
        return name[0]

    def _value(self, *, quoted: bool) -> None:
        while (character := self.character()) != "}":
            self.position += 1
            if not character:
                raise UnclearError("an expansion is not closed")
            if quoted and character in "'\"\\{":
                raise UnclearError("shells differ about quotes inside a quoted expansion")
            if character == "\\":
                self.position += 1
            elif character == "'":
                self.single_quoted()
            elif character == '"':
                self.quoted(Pieces(), '"')
            elif character in "$`":
                self.expansion(character, Pieces(), quoted=quoted)
