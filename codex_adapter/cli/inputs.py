"""Read files and standard input for a command."""

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
"""A longer input is refused. The newest CLI accepts prompts of up to a million characters."""

_READ_SIZE: Final = 1024 * 1024
_SILENCE_REPORTED_AFTER: Final = 2.0
_SILENCE_REFUSED_AFTER: Final = 60.0


async def read_input(path: str) -> bytes:
    """Read all of a file, or of standard input for `-`. A cancellation does not wait for a blocked read.

    Raise OSError if it cannot be read, and `InvalidRequestError` if it is longer than `MAX_INPUT_BYTES`.
    """
    return await _in_a_thread(_read, path)


async def append_piped_input(prompt: str) -> str:
    """Return a prompt with piped or redirected standard input appended, as the Codex CLI does (C15).

    Raise `UsageError` for an input that cannot be read, is not UTF-8, or stays open and silent.
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
        raise UsageError("Standard input cannot be read. Redirect it from /dev/null, or pipe text to it") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"Standard input is not UTF-8 at byte {error.start}. Pipe UTF-8 text to it") from None
    if not context.strip():
        return prompt
    return f"{prompt}\n\n<stdin>\n{context}{'' if context.endswith(chr(10)) else chr(10)}</stdin>"


async def _first_input() -> None:
    """Wait until standard input has a byte or ends, and report a long wait."""
    with trio.move_on_after(_SILENCE_REPORTED_AFTER):
        await trio.lowlevel.wait_readable(0)
        return
    report_error("Waiting for standard input, which is an open pipe. To pass no input, redirect it from /dev/null.")
    with trio.move_on_after(_SILENCE_REFUSED_AFTER - _SILENCE_REPORTED_AFTER):
        await trio.lowlevel.wait_readable(0)
        return
    raise UsageError(
        f"Standard input is a pipe that sent nothing for {_SILENCE_REFUSED_AFTER:g} s. "
        "Close it, or redirect it from /dev/null"
    )


@asynccontextmanager
async def open_input(path: str) -> AsyncIterator[Callable[[], Awaitable[bytes]]]:
    """Open a file, or standard input for `-`, of any length. Yield a function that reads the next bytes.

    The function returns no bytes at the end. Opening and reading raise OSError. A cancellation does not wait for a
    blocked read.
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
    """Return the JSON value in `data`. Raise `InvalidRequestError`, which names `what`."""
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
            # Another process that shares standard input made it non-blocking.
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            poll.poll()
