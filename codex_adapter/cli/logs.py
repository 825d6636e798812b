"""Write the log of the package to standard error, one line for each message, without waiting for the reader (C20)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from typing_extensions import override

from codex_adapter.cli.arguments import Once, one_of
from codex_adapter.cli.errors import write_error

__all__ = ["add_log_option", "logging_to_stderr"]

_LEVELS: Final = ("debug", "info", "warning", "error")
_DEFAULT: Final = "warning"
_LONGEST: Final = 4000
"""Bytes of a line: fewer than a writable pipe accepts in one write."""


def add_log_option(parser: Any) -> None:
    """Add `--log-level` to a parser or to an argument group."""
    text = f"the lowest level to log on standard error: {', '.join(_LEVELS)} (default: {_DEFAULT})"
    parser.add_argument("--log-level", action=Once, type=one_of(*_LEVELS), metavar="LEVEL", help=text)


@contextmanager
def logging_to_stderr(level: str | None) -> Iterator[None]:
    """Log messages of this level and above, `warning` by default, inside the block."""
    logger, handler = logging.getLogger("codex_adapter"), _Handler()
    before = logger.level
    logger.setLevel((level or _DEFAULT).upper())
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class _Handler(logging.Handler):
    """A handler that drops lines when standard error is full, and counts them in the next line."""

    def __init__(self) -> None:
        super().__init__()
        self._dropped = 0

    @override
    def emit(self, record: logging.LogRecord) -> None:
        time = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        # The text of an error can quote its input. Only its type is logged (X3).
        cause = f" ({record.exc_info[0].__name__})" if record.exc_info and record.exc_info[0] else ""
        text = "".join(c if c.isprintable() else "?" for c in record.getMessage() + cause)
        missed = f" ({self._dropped} lines before it were dropped)" if self._dropped else ""
        line = f"codex-adapter: {time}Z {record.levelname.lower()}: {text}{missed}".encode(errors="backslashreplace")
        if write_error(line[:_LONGEST].decode(errors="ignore").encode() + b"\n", seconds=0.0):
            self._dropped = 0
        else:
            self._dropped += 1

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        """Do nothing: a message that cannot be formatted must not end a run."""
