"""Provide the three descriptors of a command: an empty stdin, and pipes that capture stdout and stderr (H8, H11)."""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

import trio

from codex_adapter.runtime.pipe_reader import PipeReader
from codex_adapter.workspace.capture import Capture, Captured

__all__ = ["Outputs"]

_READ_SIZE: Final = 65_536


class Outputs:
    """The descriptors 0, 1 and 2 of one command, and our ends of its pipes. A context manager; raises OSError.

    Descriptor 0 is /dev/null. If `announced`, it is the end of a pipe to which the shell writes after its start.
    """

    def __init__(self, keep: int, *, announced: bool) -> None:
        with ExitStack() as ours, ExitStack() as command:
            stdout = _Pipe(ours, command)
            stderr = _Pipe(ours, command)
            self._announcement = _Pipe(ours, command) if announced else None
            if self._announcement is None:
                stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
                command.callback(os.close, stdin)
            else:
                stdin = self._announcement.write_end
            self._captures = ((stdout, Capture(keep)), (stderr, Capture(keep)))
            self.command_ends: Final = (stdin, stdout.write_end, stderr.write_end)
            """The descriptors of the command; open here until `drain`."""
            self._command_stack = command.pop_all()
            self._ours = ours.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._command_stack.close()
        self._ours.close()

    async def drain(self) -> None:
        """Close the command's ends in this process, and capture the output until no process has them open."""
        self._command_stack.close()
        async with trio.open_nursery() as nursery:
            for pipe, capture in self._captures:
                nursery.start_soon(_drain, pipe, capture)

    def take_rest(self) -> tuple[Captured, Captured]:
        """Return stdout and stderr, with the output that was not read yet. No process of the command may be left."""
        self._command_stack.close()
        for pipe, capture in self._captures:
            # More bytes than the capacity of the pipe arrive from another process that has the pipe. It may never end.
            left = fcntl.fcntl(pipe.read_end, fcntl.F_GETPIPE_SZ)
            while left > 0 and (data := pipe.reader.receive_now(min(left, _READ_SIZE))):
                capture.add(data)
                left -= len(data)
        (_, stdout), (_, stderr) = self._captures
        return stdout.captured(), stderr.captured()

    def shell_has_started(self) -> bool:
        """Return whether an announced shell has started. Call it once, when no process of the command is left."""
        return self._announcement is None or bool(self._announcement.reader.receive_now(1))


class _Pipe:
    """A pipe. Each end is closed with the stack of its side."""

    def __init__(self, ours: ExitStack, command: ExitStack) -> None:
        self.read_end, self.write_end = os.pipe()
        command.callback(os.close, self.write_end)
        self.reader = PipeReader(self.read_end)
        ours.callback(self.reader.close)


async def _drain(pipe: _Pipe, capture: Capture) -> None:
    while data := await pipe.reader.receive_some(_READ_SIZE):
        capture.add(data)
