"""Read the runs of a directory of journals: only the start and the end of each file (C21)."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from codex_adapter.cli.present.wording import used_by
from codex_adapter.cli.view.record_reader import time_of
from codex_adapter.durable import is_locked
from codex_adapter.events import Event
from codex_adapter.hints import Hint
from codex_adapter.records import (
    CompletedRecord,
    FailedRecord,
    RunRecord,
    decode_record,
    decode_run_record,
)

__all__ = ["Index", "JournalRow", "Status", "read_index"]

Status: TypeAlias = Literal["completed", "failed", "running", "unfinished", "empty", "damaged"]

_MOST: Final = 10_000
_PIECE: Final = 16 * 1024
_LONGEST_FIRST_LINE: Final = 256 * 1024
"""Bytes. A run record with its prompt is shorter, even if JSON escapes each character (J19)."""
_LONGEST_LINE: Final = 1024 * 1024
_LONGEST_TEXT: Final = 200
_LONGEST: Final = {"working_dir": 1024, "started": 40}
"""The limit of characters for these texts; for all others, `_LONGEST_TEXT`."""
_MOST_LABELS: Final = 16
_LONGEST_LABEL_NAME: Final = 64
_LONGEST_LABEL: Final = 256
_COUNTS: Final = 16
_LARGEST_COUNT: Final = 2**63


class JournalRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="journal"):
    """One journal.

    `status` is `completed` or `failed`, the outcome of its completion. Without a completion, it is `running` while its
    writer lives, else `unfinished`. It is `empty` for an empty file, and `damaged` if neither end has a record.
    `started` and `seconds` are from the times of the first and last line. `damaged` is true if a line at either end is
    not a record, or incomplete. Texts, labels and counts are limited, so that a row is bounded for any file. (C21)
    """

    file: str
    status: Status
    ok: bool | None = None
    started: str | None = None
    seconds: float | None = None
    run_id: str | None = None
    agent_kind: str | None = None
    working_dir: str | None = None
    model: str | None = None
    release: str | None = None
    containment: str | None = None
    labels: Mapping[str, str] = {}
    usage: Mapping[str, int] | None = None
    cost_usd: float | None = None
    hint: Hint | None = None
    advice: str | None = None
    error: str | None = None
    final_text: str | None = None
    damaged: bool = False


class Index(NamedTuple):
    """The journals of a directory, newest first; `left_out` is the number of older journals that were not read."""

    rows: list[JournalRow]
    left_out: int


class _Found(NamedTuple):
    written: float
    name: str


class _Ends(NamedTuple):
    """The first and the last complete line of a file; None for a line that is missing or too long."""

    first: bytes | None
    last: bytes | None
    torn: bool


def read_index(directory: str) -> Index:
    """Return the journals of a directory, at most the newest 10,000. Raise OSError if it cannot be read.

    A file that cannot be read is a damaged journal. Only regular files with a name `*.jsonl` are journals. (C21)
    """
    found: list[_Found] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(".jsonl") and not entry.name.startswith("."):
                facts = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(facts.st_mode):
                    found.append(_Found(facts.st_mtime, entry.name))
    found.sort(reverse=True)
    rows = [(_row(directory, each), each.written) for each in found[:_MOST]]
    rows.sort(key=lambda row: row[0][0] or row[1], reverse=True)
    return Index([row for (_, row), _ in rows], max(len(found) - _MOST, 0))


def _row(directory: str, found: _Found) -> tuple[float | None, JournalRow]:
    """Return when a run began, in seconds since 1970 or None, and its row."""
    try:
        fd = os.open(Path(directory, found.name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None, _unreadable(found.name)
    try:
        size = os.fstat(fd).st_size
        ends = _ends(fd, size)
        ending = _completion(ends.last)
        running = False
        if ending is None and size:
            running = is_locked(fd)
            # The writer may have written the completion and ended in the meantime.
            ends = _ends(fd, os.fstat(fd).st_size)
            ending = _completion(ends.last)
    except OSError:
        return None, _unreadable(found.name)
    finally:
        os.close(fd)
    return _row_of(found.name, size, ends, ending, running=running and ending is None)


def _row_of(
    name: str, size: int, ends: _Ends, ending: CompletedRecord | FailedRecord | None, *, running: bool
) -> tuple[float | None, JournalRow]:
    asked = _read_request(ends.first)
    began, ended = (None if line is None else time_of(line) for line in (ends.first, ends.last))
    whole = [asked is not None or _is_record(ends.first), ending is not None or _is_record(ends.last)]
    torn = ends.torn and not running
    if ending is None and ends.last is not None and ends.last == ends.first:
        whole[1] = whole[0]
    status: Status = "running" if running else "unfinished"
    if isinstance(ending, CompletedRecord | FailedRecord):
        status = "completed" if isinstance(ending, CompletedRecord) else "failed"
    elif not size:
        status = "empty"
    elif not any(whole) and not running:
        status = "damaged"
    fields: dict[str, object] = {} if asked is None else msgspec.structs.asdict(asked)
    fields.pop("prompt", None)
    if isinstance(ending, CompletedRecord):
        completion = ending.completion
        fields |= {"ok": completion.ok, "hint": completion.hint, "final_text": completion.final_text}
        used = used_by(completion)
        fields |= {"advice": completion.advice, "usage": used.tokens, "cost_usd": used.cost_usd}
    elif isinstance(ending, FailedRecord):
        error = ending.error
        fields |= {"ok": False, "hint": error.hint, "advice": error.advice, "error": error.message}
        fields |= {"usage": ending.run_usage, "cost_usd": ending.cost_usd}
    if began is not None:
        fields["started"] = _read_time_text(ends.first)
    if began is not None and ended is not None:
        fields["seconds"] = round(max(ended - began, 0.0), 3)
    damaged = bool(size) and (torn or not all(whole))
    row = msgspec.convert(
        {"type": "journal", **_limit_fields(fields), "file": _decode_name(name), "status": status, "damaged": damaged},
        JournalRow,
    )
    return began, row


def _limit_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a row with each text cut to its limit, and with a limited number of labels and counts."""
    bounded: dict[str, object] = {}
    for name, value in fields.items():
        match value:
            case str():
                bounded[name] = value[: _LONGEST.get(name, _LONGEST_TEXT)]
            case dict() if name == "labels":
                labels = islice(value.items(), _MOST_LABELS)
                bounded[name] = {label[:_LONGEST_LABEL_NAME]: text[:_LONGEST_LABEL] for label, text in labels}
            case dict():
                counts = islice(value.items(), _COUNTS)
                bounded[name] = {count[:_LONGEST_TEXT]: n for count, n in counts if abs(n) < _LARGEST_COUNT}
            case _:
                bounded[name] = value
    return bounded


def _unreadable(name: str) -> JournalRow:
    return JournalRow(file=_decode_name(name), status="damaged", damaged=True)


def _decode_name(name: str) -> str:
    return name.encode(errors="surrogateescape").decode(errors="replace")


class _Time(msgspec.Struct):
    time: str


def _read_time_text(line: bytes | None) -> str:
    return msgspec.json.decode(line or b"", type=_Time).time


def _read_request(line: bytes | None) -> RunRecord | None:
    try:
        return None if line is None else decode_run_record(line)
    except ValueError:
        return None


def _completion(line: bytes | None) -> CompletedRecord | FailedRecord | None:
    try:
        record = None if line is None else decode_record(line)
    except ValueError:
        return None
    return None if isinstance(record, Event) else record


def _is_record(line: bytes | None) -> bool:
    try:
        return line is not None and bool(decode_record(line))
    except ValueError:
        return False


def _ends(fd: int, size: int) -> _Ends:
    return _Ends(_first_line(fd), *_last_line(fd, size))


def _first_line(fd: int) -> bytes | None:
    for length in (_PIECE, _LONGEST_FIRST_LINE):
        line, newline, _ = os.pread(fd, length, 0).partition(b"\n")
        if newline:
            return line
    return None


def _last_line(fd: int, size: int) -> tuple[bytes | None, bool]:
    """Return the last complete line, and whether bytes follow it."""
    length = _PIECE
    while True:
        start = max(size - length, 0)
        whole, newline, rest = os.pread(fd, size - start, start).rpartition(b"\n")
        before = whole.rfind(b"\n")
        if newline and (before >= 0 or not start):
            return whole[before + 1 :], bool(rest)
        if not start or length >= _LONGEST_LINE:
            return None, bool(rest)
        length *= 8
