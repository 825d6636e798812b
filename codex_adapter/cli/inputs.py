"""What a command reads besides its arguments: files, and standard input."""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar, TypeVarTuple

import msgspec
import trio

from codex_adapter import InvalidRequestError
from codex_adapter.cli.errors import UsageError, report_error
from codex_adapter.runtime.exhaustion import is_shortage

__all__ = ["MAX_INPUT_BYTES", "append_piped_input", "decode_json", "open_input", "read_input"]

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

MAX_INPUT_BYTES: Final = 64 * 1024 * 1024
"""More than this is no request: the newest CLI itself takes prompts of up to a million characters."""

_READ_SIZE: Final = 1024 * 1024
_SILENCE_REPORTED_AFTER: Final = 2.0
_SILENCE_REFUSED_AFTER: Final = 60.0


async def read_input(path: str) -> bytes:
    """All of a file, or of standard input for `-`; a cancellation does not wait for what never comes.

    Raises OSError when it cannot be read, and `InvalidRequestError` when it is longer than `MAX_INPUT_BYTES`.
    """
    return await _in_a_thread(_read, path)


async def append_piped_input(prompt: str) -> str:
    """Return a prompt with what is piped or redirected to standard input, appended as the CLI itself does (C15).

    Raises `UsageError` for an input that cannot be read, is not UTF-8, or stays silent and open.
    """
    mode = os.fstat(0).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return prompt
    if not stat.S_ISREG(mode):
        await _first_input()
    try:
        context = (await read_input("-")).decode()
    except OSError as error:
        if is_shortage(error):
            raise
        raise UsageError("standard input cannot be read. Redirect it from /dev/null, or pipe text to it") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 at byte {error.start}. Pipe text to it") from None
    if not context.strip():
        return prompt
    return f"{prompt}\n\n<stdin>\n{context}{'' if context.endswith(chr(10)) else chr(10)}</stdin>"


async def _first_input() -> None:
    """Wait until standard input has a byte or its end, and report a wait that a person would wonder about."""
    with trio.move_on_after(_SILENCE_REPORTED_AFTER):
        await trio.lowlevel.wait_readable(0)
        return
    report_error("waiting for standard input, which is an open pipe. Redirect it from /dev/null if nothing is to come")
    with trio.move_on_after(_SILENCE_REFUSED_AFTER - _SILENCE_REPORTED_AFTER):
        await trio.lowlevel.wait_readable(0)
        return
    raise UsageError(
        f"standard input is a pipe that sent nothing for {_SILENCE_REFUSED_AFTER:g} s. "
        "Close it, or redirect it from /dev/null"
    )


@asynccontextmanager
async def open_input(path: str) -> AsyncIterator[Callable[[], Awaitable[bytes]]]:
    """A file, or standard input for `-`, of any length: gives what reads its next bytes, none at its end.

    Opening and reading raise OSError; a cancellation does not wait for what never comes.
    """
    fd = 0 if path == "-" else await _in_a_thread(os.open, path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield lambda: _in_a_thread(_read_some, fd)
    finally:
        if fd:
            os.close(fd)


async def _in_a_thread(call: Callable[[*_Ts], _T], *words: *_Ts) -> _T:
    try:
        return await trio.to_thread.run_sync(call, *words, abandon_on_cancel=True)
    except RuntimeError:
        raise OSError(errno.EAGAIN, "no thread can be started") from None


def decode_json(data: bytes, what: str) -> Any:
    """The JSON value in `data`. Raises `InvalidRequestError`, which says of `what` that it is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise InvalidRequestError(f"{what} must be JSON in UTF-8") from None


def _read(path: str) -> bytes:
    fd = 0 if path == "-" else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        blocks: list[bytes] = []
        size = 0
        while block := _read_some(fd):
            size += len(block)
            if size > MAX_INPUT_BYTES:
                raise InvalidRequestError(f"an input must have at most {MAX_INPUT_BYTES} bytes")
            blocks.append(block)
        return b"".join(blocks)
    finally:
        if fd:
            os.close(fd)


def _read_some(fd: int) -> bytes:
    while True:
        try:
            return os.read(fd, _READ_SIZE)
        except BlockingIOError:
            # somebody who shares standard input with us has made it non-blocking
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            poll.poll()
