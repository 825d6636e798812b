"""Parse a shell text, and find every simple command in it, in order.

The parser is not tree-sitter-bash 0.25, which loses commands that dash runs: backquotes in a here-document,
`${x#$(rm)}`, names with line continuations. It also accepts syntax that `/bin/sh` does not have.
"""

from __future__ import annotations

import re

from typing_extensions import override

from codex_adapter.protocols.operations.shell.lexer import Lexer, Token
from codex_adapter.protocols.operations.shell.pieces import Pieces
from codex_adapter.protocols.operations.shell.text import Redirection, SimpleCommand, UnclearError, Word

__all__ = ["KEYWORDS", "Reader"]

CLOSING = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
KEYWORDS = CLOSING | {"if", "while", "until", "for", "case", "in", "{", "!"}
OF_OTHER_SHELLS = frozenset({"function", "select", "coproc", "foreach"})
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
ASSIGNMENT_OF_OTHER_SHELLS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\+=|\[.*\]\+?=)", re.DOTALL)
SEPARATORS = frozenset({"\n", ";", "&"})
ENDS = SEPARATORS | {")", ";;"}
REDIRECTIONS = frozenset({"<", ">", ">>", "<<", "<<-", "<&", ">&", "<>", ">|"})


class Reader(Lexer):
    """A parser of a text. `script` has the commands so far, also after an error."""

    def read(self) -> None:
        """Read the whole text. Raises UnclearError if its meaning is not certain."""
        self._list()
        if self.next() != Token():
            raise UnclearError("it is not a complete shell command")
        self.read_documents()
        self._note_assigned()

    @override
    def commands_inside(self) -> None:
        awaited, self.awaited = self.awaited, []
        start = self.position
        self._list()
        self._expect(")")
        if self.awaited or (awaited and "\n" in self.text[start : self.position]):
            raise UnclearError("the beginning of a here-document is ambiguous")
        self.awaited = awaited

    @override
    def commands_of(self, text: str) -> None:
        Reader(text, self.depth + 1, self.script).read()

    @override
    def expanded(self, text: str) -> Word:
        reader, pieces = Reader(text, self.depth + 1, self.script), Pieces()
        reader.quoted(pieces, "")
        reader._note_assigned()
        return pieces.word()

    def _note_assigned(self) -> None:
        if self.assigned:
            self.script.commands.append(SimpleCommand(tuple(self.assigned), (), ()))

    def _note_value(self, word: Word, name: str = "") -> None:
        for index, part in enumerate(word.parts):
            self.script.note_value((part or "").removeprefix("" if index else name))

    def _list(self) -> None:
        self.deeper(1)
        while True:
            token = self.next()
            if token.operator in SEPARATORS:
                continue
            self.pushed_back = token
            if token == Token() or token.operator in (")", ";;") or _keyword(token) in CLOSING:
                break
            self._and_or()
            after = self.pushed_back = self.next()
            if not (after == Token() or after.operator in ENDS or _keyword(after) in CLOSING):
                raise UnclearError("a command does not end where it must end")
        self.deeper(-1)

    def _and_or(self) -> None:
        self._command(may_negate=True)
        while True:
            token = self.next()
            if token.operator not in ("&&", "||", "|"):
                self.pushed_back = token
                return
            self._skip_lines()
            self._command(may_negate=token.operator != "|")

    def _command(self, *, may_negate: bool) -> None:
        token = self.next()
        keyword = _keyword(token)
        if token.operator == "(" and self.character() == "(":
            self.script.doubts.append("shells differ about two parentheses at the beginning of a command")
        if keyword == "!" and may_negate:
            return self._command(may_negate=False)
        if token.operator == "(" or keyword == "{":
            self._list()
            self._expect(")" if token.operator else "}")
        elif keyword == "if":
            self._if()
        elif keyword in ("while", "until"):
            self._list()
            self._body()
        elif keyword == "for":
            self._for()
        elif keyword == "case":
            self._case()
        elif keyword is not None and keyword != "in":
            raise UnclearError(f"a '{keyword}' is in the place of a command")
        else:
            self.pushed_back = token
            return self._simple()
        return self._redirect_compound()

    def _if(self) -> None:
        self._list()
        self._expect("then")
        self._list()
        token = self.next()
        if _keyword(token) == "elif":
            return self._if()
        if _keyword(token) == "else":
            self._list()
            token = self.next()
        return self._require(token, "fi")

    def _body(self) -> None:
        self._expect("do")
        self._list()
        self._expect("done")

    def _for(self) -> None:
        name = self.next().word
        if name is None or not NAME.fullmatch(name.raw):
            raise UnclearError("a loop has no plain variable")
        self.assigned.append(name.raw)
        self._skip_lines()
        token = self.next()
        if _keyword(token) == "in":
            while (token := self.next()).word is not None:
                self._note_value(token.word)
        else:
            self.pushed_back = token
            token = self.next() if token.operator in SEPARATORS else Token(";")
        if token.operator not in (";", "\n"):
            raise UnclearError("the words of a loop do not end")
        self._skip_lines()
        self._body()

    def _case(self) -> None:
        if self.next().word is None:
            raise UnclearError("a case has no word")
        self._skip_lines()
        self._expect("in")
        while True:
            self._skip_lines()
            token = self.next()
            if _keyword(token) == "esac":
                return
            if token.operator == "(":
                token = self.next()
            self._patterns(token)
            self._list()
            token = self.next()
            if token.operator != ";;":
                return self._require(token, "esac")

    def _patterns(self, token: Token) -> None:
        while True:
            if token.word is None:
                raise UnclearError("a case has no pattern")
            token = self.next()
            if token.operator == ")":
                return
            if token.operator != "|":
                raise UnclearError("the patterns of a case do not end")
            token = self.next()

    def _simple(self) -> None:
        assigned: list[str] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while True:
            token = self.next()
            if token.operator in REDIRECTIONS:
                redirections.append(self._redirection(token))
            elif token.word is not None and ASSIGNMENT_OF_OTHER_SHELLS.match(token.word.raw) and not words:
                raise UnclearError("shells differ about an assignment")
            elif token.word is not None and not words and (match := ASSIGNMENT.match(token.word.raw)):
                assigned.append(match[1])
                self._note_value(token.word, match[0])
            elif token.word is not None:
                words.append(token.word)
                if len(words) == 1 and token.word.raw in OF_OTHER_SHELLS:
                    raise UnclearError(f"shells differ about '{token.word.raw}'")
            elif token.operator == "(" and len(words) == 1 and not assigned and not redirections:
                return self._function(words[0])
            else:
                self.pushed_back = token
                break
        if not (assigned or words or redirections):
            raise UnclearError("a command is missing")
        self.script.commands.append(SimpleCommand(tuple(assigned), tuple(words), tuple(redirections)))
        return None

    def _function(self, name: Word) -> None:
        self._expect(")")
        if name.text is None or name.raw != name.text:
            raise UnclearError("a function has no plain name")
        self._skip_lines()
        self._command(may_negate=False)

    def _redirect_compound(self) -> None:
        redirections = []
        while (token := self.next()).operator in REDIRECTIONS:
            redirections.append(self._redirection(token))
        self.pushed_back = token
        if redirections:
            self.script.commands.append(SimpleCommand((), (), tuple(redirections)))

    def _redirection(self, token: Token) -> Redirection:
        descriptor = token.descriptor if token.descriptor is not None else int(">" in token.operator[:1])
        target = self.next().word
        if target is None:
            raise UnclearError("a redirection has no target")
        if token.operator not in ("<<", "<<-"):
            return Redirection(token.operator, target, descriptor)
        document = self.here_document(target, strips_tabs=token.operator == "<<-")
        return Redirection(token.operator, target, descriptor, document)

    def _skip_lines(self) -> None:
        while (token := self.next()).operator == "\n":
            pass
        self.pushed_back = token

    def _expect(self, wanted: str) -> None:
        self._require(self.next(), wanted)

    def _require(self, token: Token, wanted: str) -> None:
        if wanted not in (token.operator, _keyword(token)):
            raise UnclearError(f"a '{wanted}' is missing")


def _keyword(token: Token) -> str | None:
    return token.word.raw if token.word is not None and token.word.raw in KEYWORDS else None
