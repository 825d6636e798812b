"""Split a shell text into words, operators and here-documents."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import NamedTuple

from codex_adapter.protocols.operations.shell.documents import document_text
from codex_adapter.protocols.operations.shell.expansions import Expansions
from codex_adapter.protocols.operations.shell.pieces import Pieces
from codex_adapter.protocols.operations.shell.text import HereDocument, Script, UnclearError, Word

__all__ = ["Lexer", "Token"]

OPERATORS = ("&&", "||", ";;", "<<-", "<<", ">>", "<&", ">&", "<>", ">|", "\n", ";", "&", "|", "(", ")", "<", ">")
BREAKS = frozenset(" \t\n;&|()<>")


class Token(NamedTuple):
    """An operator or a word; if both are missing, the end of the text."""

    operator: str = ""
    word: Word | None = None
    descriptor: int | None = None
    """The digit in front of a redirection."""


class Lexer(Expansions):
    """A reader of `text`, token by token."""

    def __init__(self, text: str, depth: int = 0, script: Script | None = None) -> None:
        super().__init__(text, depth, script)
        self.pushed_back: Token | None = None
        self.awaited: list[HereDocument] = []

    @abstractmethod
    def expanded(self, text: str) -> Word:
        """Read the text of a here-document with substitutions."""

    def next(self) -> Token:
        """Return the next token."""
        if self.pushed_back is not None:
            token, self.pushed_back = self.pushed_back, None
            return token
        while (character := self.character()) in (" ", "\t"):
            self.position += 1
        if character == "#":
            end = self.text.find("\n", self.position)
            self.position = len(self.text) if end < 0 else end
            character = self.character()
        if not character:
            return Token()
        for operator in OPERATORS:
            if self.takes(operator):
                if operator == "\n":
                    self.read_documents()
                return Token(operator)
        return self._word()

    def here_document(self, delimiter: Word, *, strips_tabs: bool) -> HereDocument:
        """Register a here-document. Its text is read at the end of the line."""
        if delimiter.text is None:
            raise UnclearError("the end of a here-document is not a plain word")
        quoted = any(quote in delimiter.raw for quote in "'\"\\")
        document = HereDocument(delimiter.text, quoted, strips_tabs)
        self.awaited.append(document)
        return document

    def read_documents(self) -> None:
        """Read the texts of the here-documents of the line that ended."""
        awaited, self.awaited = self.awaited, []
        for document in awaited:
            text, self.position = document_text(document, self.text, self.position)
            document.body = Word((text,)) if document.quoted else self.expanded(text)

    def _word(self) -> Token:
        start = self.position
        pieces = Pieces()
        while (character := self.character()) and character not in BREAKS:
            self.position += 1
            if character == "\\":
                if self.position == len(self.text):
                    self.script.doubts.append("shells differ about a backslash at the end of the text")
                pieces.quote(self.text[self.position : self.position + 1])
                self.position += 1
            elif character == "'":
                pieces.quote(self.single_quoted())
            elif character == '"':
                self.quoted(pieces, '"')
            elif character in "$`":
                self.expansion(character, pieces, quoted=False)
            else:
                pieces.write(character)
        raw = self.text[start : self.position].replace("\\\n", "")
        if character in ("<", ">") and (raw.isdecimal() or re.fullmatch(r"\{\w+\}", raw)):
            return self._numbered_redirection(raw)
        return Token(word=pieces.word(raw))

    def _numbered_redirection(self, raw: str) -> Token:
        if len(raw) > 1:
            raise UnclearError("shells differ about a redirection of that descriptor")
        return self.next()._replace(descriptor=int(raw))
