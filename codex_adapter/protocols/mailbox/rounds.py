"""Keep the journal of a round: accepted answers, and commands that were begun or finished (I14)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import msgspec

from codex_adapter.protocols.mailbox.layout import MailboxError, append_line
from codex_adapter.protocols.mailbox.messages import CommandResult, Done

__all__ = ["AnswerRecord", "Begun", "ChangeIntent", "RoundJournal"]


class ChangeIntent(msgspec.Struct, frozen=True):
    """The fingerprints of a file before and after a change; None if the file does not exist."""

    was: bytes | None
    becomes: bytes | None


class AnswerRecord(msgspec.Struct, frozen=True, tag="Answer"):
    """An answer was accepted; `digest` is the SHA-256 of its bytes."""

    position: int
    digest: bytes


class Begun(msgspec.Struct, frozen=True, tag="Begun"):
    """A command is executed next. `intent` is that of a change of a file."""

    position: int
    index: int
    intent: ChangeIntent | None = None


class Finished(msgspec.Struct, frozen=True, tag="Finished"):
    """A command has finished. `requested` is the path of a file to show in the next outbox."""

    position: int
    index: int
    result: CommandResult
    requested: str | None = None


_Record: TypeAlias = AnswerRecord | Begun | Finished
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[_Record] = msgspec.json.Decoder(_Record)


class RoundJournal:
    """The journal of a round, with the records of earlier processes. Raises `MailboxError` if it cannot be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digests: dict[int, bytes] = {}
        self._begun: dict[tuple[int, int], Begun] = {}
        self._finished: dict[tuple[int, int], Finished] = {}
        for line in _read_lines(path):
            self._apply(_decode_record(line))

    def digest(self, position: int) -> bytes | None:
        """Return the digest of an accepted answer; None if no such answer was accepted."""
        return self._digests.get(position)

    @property
    def positions(self) -> Iterable[int]:
        """The positions of the accepted answers."""
        return self._digests.keys()

    def summary(self, position: int) -> str | None:
        """Return the summary of the executed `DONE` of an answer; None without `DONE`."""
        of_answer = (each.result for (place, _), each in self._finished.items() if place == position)
        return next((it.output for it in of_answer if it.success and it.command == Done.name), None)

    def begun(self, position: int, index: int) -> Begun | None:
        """Return the record of a command that was begun; None for any other."""
        return self._begun.get((position, index))

    def finished(self, position: int, index: int) -> Finished | None:
        """Return the record of a finished command; None for any other."""
        return self._finished.get((position, index))

    @property
    def results(self) -> tuple[CommandResult, ...]:
        """The results of the commands so far, in order."""
        return tuple(self._finished[place].result for place in sorted(self._finished))

    @property
    def requested(self) -> tuple[str, ...]:
        """The paths of the files to show, each once."""
        found = (self._finished[place].requested for place in sorted(self._finished))
        return tuple(dict.fromkeys(path for path in found if path is not None))

    def add(self, record: _Record) -> None:
        """Append a record. Raises `MailboxError`."""
        append_line(self._path, _encoder.encode(record) + b"\n")
        self._apply(record)

    def _apply(self, record: _Record) -> None:
        match record:
            case AnswerRecord(position=position, digest=digest):
                self._digests[position] = digest
            case Begun(position=position, index=index):
                self._begun[position, index] = record
            case Finished(position=position, index=index):
                self._finished[position, index] = record


def _read_lines(path: Path) -> list[bytes]:
    """Return the lines of a journal. Remove an incomplete last line, which a killed writer leaves."""
    try:
        with path.open("r+b") as file:
            data = file.read()
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                file.truncate(whole)
                os.fsync(file.fileno())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise MailboxError(f"the journal of the round cannot be read ({os.strerror(error.errno or 0)})") from None
    return data[:whole].split(b"\n")[:-1]


def _decode_record(line: bytes) -> _Record:
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise MailboxError("the journal of the round is damaged. Restore it, or end the session") from None
