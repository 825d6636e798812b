"""Read the token usage of a session before a run: the last count in the session's file (F10).

The CLI continues to count from there. Only numbers are read from the file.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from codex_adapter.agents.codex.command import home_of_cli
from codex_adapter.agents.codex.launch import CodexLaunch
from codex_adapter.agents.codex.releases import parse_version, quirk
from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry, inquire

__all__ = ["usage_before"]

_SECONDS: Final = 2.0
"""How long a run waits for a file system that does not answer."""
_READS: Final = (64 * 1024, 1024 * 1024, 16 * 1024 * 1024)
"""Bytes at the end of the file to search. A larger part is searched only if the smaller part has no count."""
_FIRST_LINE: Final = 1024 * 1024
_MARK: Final = b'"token_count"'
_USAGE_OF_THREAD: Final = quirk("usage_of_thread")

Usage = Mapping[str, int]


class _Writer(msgspec.Struct):
    cli_version: str


class _Line(msgspec.Struct):
    type: str
    payload: msgspec.Raw


class _Kind(msgspec.Struct):
    type: str


class _Totals(msgspec.Struct):
    total_token_usage: dict[str, int]


class _TokenCount(msgspec.Struct):
    info: _Totals | None = None


_writer = msgspec.json.Decoder(_Writer).decode
_line = msgspec.json.Decoder(_Line).decode
_kind = msgspec.json.Decoder(_Kind).decode
_token_count = msgspec.json.Decoder(_TokenCount).decode


async def usage_before(launch: CodexLaunch) -> Usage | None:
    """Return the token counts of a resumed or forked session before this run, by name (F10).

    Return None if they are unknown, and for a new session, whose usage is the run's own.
    """
    options = launch.options
    session = options.resume or options.fork
    place = _sessions(launch)
    if session is None or session.id is None or place is None:
        return None
    try:
        return await inquire(_last_count, place, session.id, seconds=_SECONDS)
    except (OSError, ValueError, BackendError):
        # The file does not exist, the id is not a UUID, or the file system does not answer: the run works without.
        return None


def _sessions(launch: CodexLaunch) -> Path | None:
    home = home_of_cli(launch.env)
    return None if home is None else Path(launch.cwd, home, "sessions")


def _last_count(inquiry: Inquiry, sessions: Path, session_id: str) -> Usage | None:
    """Return the last count in the file of a session. Raise OSError and ValueError if it cannot be read."""
    born = uuid.UUID(session_id)
    if born.version != 7:
        return None
    inquiry.at("directory of sessions", str(sessions))
    # The name of its directory is the local date on which the session began. The id contains that time.
    moment = datetime.fromtimestamp((born.int >> 80) / 1000, tz=UTC)
    days = [f"{moment + timedelta(days=days):%Y/%m/%d}" for days in (-1, 0, 1)]
    found = [path for day in days for path in (sessions / day).glob(f"rollout-*-{born}.jsonl")]
    if len(found) != 1:
        return None
    file = os.open(found[0], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        if not _counts_threads(os.pread(file, _FIRST_LINE, 0).partition(b"\n")[0]):
            return None
        for size in _READS:
            end = os.fstat(file).st_size
            start = max(0, end - size)
            for line in _lines_with_mark(os.pread(file, size, start), whole=start == 0):
                if (count := _count(line)) is not None:
                    return count
            if start == 0:
                break
    finally:
        os.close(file)
    return None


def _counts_threads(first_line: bytes) -> bool:
    """Return whether the release that began the session counts the tokens of threads, as each newer release does.

    To ask the binary for its release would cost each resumed run another process.
    """
    version = parse_version(f"codex {_writer(_line(first_line).payload).cli_version}")
    return version is not None and _USAGE_OF_THREAD.holds(version)


def _lines_with_mark(data: bytes, *, whole: bool) -> Iterator[bytes]:
    """Yield the lines that may have a count, the last line first; the first line only if the data are `whole`."""
    end = len(data)
    while (place := data.rfind(_MARK, 0, end)) >= 0:
        start = data.rfind(b"\n", 0, place) + 1
        if start == 0 and not whole:
            return
        stop = data.find(b"\n", place)
        yield data[start : stop if stop >= 0 else len(data)]
        end = start


def _count(line: bytes) -> Usage | None:
    """Return the session's total in a line of the file, or None.

    Raise ValueError if the count has an unknown form: an older count would be wrong.
    """
    try:
        event = _line(line)
        if event.type != "event_msg" or _kind(event.payload).type != "token_count":
            return None
    except (msgspec.DecodeError, RecursionError):
        return None  # for example cut when the agent was killed; the CLI skips such a line too
    totals = _token_count(event.payload).info
    return None if totals is None else totals.total_token_usage
