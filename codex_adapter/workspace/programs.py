"""Run a program with pipes to it, contained like a command: none of its processes outlives it (H8, H12)."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import NamedTuple

import trio

from codex_adapter.errors import SpawnError
from codex_adapter.runtime.containment.containment import Contained, Containment
from codex_adapter.runtime.containment.marks import new_mark
from codex_adapter.runtime.exhaustion import is_shortage
from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.shell import ShellCall, build_shell_call

__all__ = ["Program", "open_program"]


class Program(NamedTuple):
    """Our ends of a program's pipes; each may be closed early. Its stderr is /dev/null."""

    stdin: trio.abc.SendStream
    stdout: trio.abc.ReceiveStream


@asynccontextmanager
async def open_program(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | None = None,
    containment: Containment | None = None,
) -> AsyncIterator[Program]:
    """Start a program, and yield pipes to it. A shell looks up the program's name.

    The program has the variables `env`, and a few that every command has. `cwd` is by default this process's
    directory. Pass the same `containment` to several programs: it stores which levels of containment work on this
    machine.

    When the body ends, also by an exception, the program is killed, and no process that it started is left. Raises
    `WorkspaceError`. If the program does not exist, its stdout ends at once (H8, H12).
    """
    directory = cwd or "."
    with ExitStack() as ours:
        try:
            call = _make_call(argv, env, directory)
            program, contained = await _start(call, directory, containment or Containment(), ours)
        except OSError as error:
            raise _make_start_error(error) from None
        except ValueError:
            raise WorkspaceError("bad_name", "The working directory has a character that no path can have") from None
        except SpawnError as error:
            raise WorkspaceError("io", error.advice or str(error)) from None
        try:
            yield program
        finally:
            with trio.CancelScope(shield=True):
                await contained.aclose()


def _make_call(argv: Sequence[str], env: Mapping[str, str], directory: str) -> ShellCall:
    """Return the call of a shell that executes the program.

    The shell looks up the program, and sets the variables, so that the containing process does not obey them.
    """
    name = os.path.realpath(directory)
    return build_shell_call(f"exec {shlex.join(argv)}", env, environ=os.environ, directory=name)


async def _start(call: ShellCall, cwd: str, containment: Containment, ours: ExitStack) -> tuple[Program, Contained]:
    with ExitStack() as theirs:
        stdin, writing = _open_pipe(theirs, ours, written=True)
        stdout, reading = _open_pipe(theirs, ours, written=False)
        stderr = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        theirs.callback(os.close, stderr)
        contained = await containment.start(
            call.argv, env=call.env, cwd=cwd, pipes=(stdin, stdout, stderr), mark=new_mark()
        )
    return Program(writing, reading), contained


def _open_pipe(theirs: ExitStack, ours: ExitStack, *, written: bool) -> tuple[int, trio.lowlevel.FdStream]:
    """Return the program's end of a new pipe, and ours as a stream."""
    read_end, write_end = os.pipe()
    end, our_end = (read_end, write_end) if written else (write_end, read_end)
    theirs.callback(os.close, end)
    stream = trio.lowlevel.FdStream(our_end)
    ours.callback(stream.close)
    return end, stream


def _make_start_error(error: OSError) -> WorkspaceError:
    reason = os.strerror(error.errno or 0)
    if is_shortage(error):
        return WorkspaceError("exhausted", f"The system has too few resources to start a program ({reason})")
    return WorkspaceError("io", f"The program cannot be started ({reason})")
