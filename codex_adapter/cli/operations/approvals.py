"""Ask the person at the terminal whether to execute an operation (O14).

The agent may try to mislead that person: the terminal receives its content only as safe text.
"""

from __future__ import annotations

import os
import termios
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Final

import trio

from codex_adapter.cli.operations.text_diff import difference
from codex_adapter.protocols.operations.executor import OperationExecutor, PendingApproval, Preview
from codex_adapter.protocols.operations.messages import Approval
from codex_adapter.protocols.operations.operations import ShellOperation

__all__ = ["NoTerminal", "Person", "at_the_terminal"]

_MOST_LINES: Final = 200
_LONGEST_LINE: Final = 500
_QUESTION: Final = b"Execute it? Type y for yes, n for no, or n and a reason: "


class NoTerminal(Exception):
    """The process has no terminal at which it can ask a person."""


@contextmanager
def at_the_terminal(runtime: OperationExecutor) -> Iterator[Person]:
    """Open the terminal of this process, even if standard input and output are not terminals. Raise `NoTerminal`."""
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        raise NoTerminal from None
    try:
        yield Person(fd, runtime)
    finally:
        os.close(fd)


class Person:
    """The person at the terminal `fd`."""

    def __init__(self, fd: int, runtime: OperationExecutor) -> None:
        self._fd = fd
        self._runtime = runtime

    async def decide(self, waiting: PendingApproval) -> Approval | None:
        """Return the decision on an operation, None if the terminal closed; a `Decide` function."""
        preview = await self._runtime.preview(waiting)
        try:
            await self._write("".join(f"{_safe(line)}\n" for line in _describe_operation(waiting, preview)).encode())
            # Drop what was typed before the question appeared.
            with suppress(termios.error):
                termios.tcflush(self._fd, termios.TCIFLUSH)
            while True:
                await self._write(_QUESTION)
                answer = await self._read_line()
                if answer is None:
                    return None
                word, _, reason = answer.strip().partition(" ")
                if word.lower() in ("y", "yes") and not reason:
                    return Approval(operation_id=waiting.operation_id, decision="approved", run_id=waiting.run_id)
                if word.lower() in ("n", "no"):
                    return Approval(
                        operation_id=waiting.operation_id,
                        decision="denied",
                        reason=reason.strip(),
                        run_id=waiting.run_id,
                    )
        except OSError:
            return None

    async def _write(self, data: bytes) -> None:
        while data:
            await trio.lowlevel.wait_writable(self._fd)
            with suppress(BlockingIOError):
                data = data[os.write(self._fd, data) :]

    async def _read_line(self) -> str | None:
        line = b""
        while not line.endswith(b"\n"):
            await trio.lowlevel.wait_readable(self._fd)
            with suppress(BlockingIOError):
                data = os.read(self._fd, 4096)
                if not data:
                    return None
                line += data
        return line.decode(errors="replace")


def _describe_operation(waiting: PendingApproval, preview: Preview | None) -> Iterator[str]:
    """Yield the lines that a person needs to decide on an operation. Of a command, show every character."""
    operation = waiting.operation
    yield ""
    yield f"An agent requests {operation.type}: {waiting.reason} ({waiting.policy})"
    if isinstance(operation, ShellOperation):
        yield from (f"  $ {line}" for line in operation.command.split("\n"))
        if operation.cwd:
            yield f"  in {operation.cwd}"
        yield from _limit_lines(f"  with {name}={value}" for name, value in operation.env.items())
    elif preview is None:
        yield f"  {getattr(operation, 'path', '')}"
    else:
        now = f"not shown ({preview.unseen})" if preview.unseen else f"now {_size(preview.before)}"
        yield f"  {preview.path}: {now}, then {_size(preview.after)}"
        yield from _limit_lines(f"  {line}" for line in _difference(preview))


def _size(content: bytes | None) -> str:
    return "no file" if content is None else f"{len(content)} bytes"


def _difference(preview: Preview) -> Iterable[str]:
    path, before, after, _ = preview
    if (before is not None and b"\0" in before) or (after is not None and b"\0" in after):
        return ["not text"]
    old, new = ((text or b"").decode(errors="replace").splitlines() for text in (before, after))
    names = [path if text is not None else "no file" for text in (before, after)]
    return difference(old, new, *names)


def _limit_lines(lines: Iterable[str]) -> Iterator[str]:
    rest = iter(lines)
    for line in islice(rest, _MOST_LINES):
        left = len(line) - _LONGEST_LINE
        yield line if left <= 0 else f"{line[:_LONGEST_LINE]} ... {left} more characters"
    left = sum(1 for _ in rest)
    if left:
        yield f"  ... {left} more lines"


def _safe(line: str) -> str:
    """Return a line with an escape for each character that would move the cursor, reverse text or be invisible."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in line)
