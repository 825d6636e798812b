"""Read the output of a program that only prints, contained like a run (N7)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from typing import Final, NamedTuple

import trio

from codex_adapter.errors import BackendError
from codex_adapter.events import ExitStatus
from codex_adapter.runtime.containment.containment import Contained, Containment
from codex_adapter.runtime.containment.marks import new_mark
from codex_adapter.runtime.pipe_reader import PipeReader
from codex_adapter.runtime.private_file import private_directory

__all__ = ["ProgramOutput", "read_output"]

_MOST_BYTES: Final = 4096


class ProgramOutput(NamedTuple):
    """The first bytes of a program's standard output, at most 4096, and its exit status.

    The status is None if the program could not be started, or was ended before its exit.
    """

    data: bytes
    status: ExitStatus | None


async def read_output(
    argv: Sequence[str], environ: Mapping[str, str], *, containment: Containment, seconds: float
) -> ProgramOutput:
    """Run a program for at most `seconds`, and return its output. Leave no process and no temporary file of it (N7).

    End the program after enough output. Return no output if it cannot be started. Raise `SpawnError` if no accepted
    level of containment works.
    """
    mark = new_mark()
    async with AsyncExitStack() as held:
        file = None
        # Without a temporary directory, the answer is still useful.
        with suppress(BackendError):
            directory = await held.enter_async_context(private_directory(mark))
            environ, file = {**environ, "TMPDIR": directory}, f"{directory}/run"
        with ExitStack() as childs:
            try:
                nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
                childs.callback(os.close, nothing)
                output, stdout = os.pipe()
                childs.callback(os.close, stdout)
                reader = PipeReader(output)
                held.callback(reader.close)
                contained = await containment.start(
                    argv, env=environ, cwd=os.curdir, pipes=(nothing, stdout, nothing), mark=mark, file=file
                )
            except OSError:
                return ProgramOutput(b"", None)
        try:
            return await _read(contained, reader, seconds)
        finally:
            with trio.CancelScope(shield=True):
                await contained.aclose()


async def _read(contained: Contained, reader: PipeReader, seconds: float) -> ProgramOutput:
    """Read until the exit, and not until the end of the output: a process in the background may keep it open."""
    data = bytearray()
    status: ExitStatus | None = None
    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:

            async def wait() -> None:
                nonlocal status
                with suppress(BackendError):
                    status = await contained.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(wait)
            while len(data) < _MOST_BYTES and (chunk := await reader.receive_some(_MOST_BYTES)):
                data += chunk
            if len(data) >= _MOST_BYTES:
                nursery.cancel_scope.cancel()
    with suppress(OSError):
        data += reader.receive_now(_MOST_BYTES)
    return ProgramOutput(bytes(data[:_MOST_BYTES]), status)
