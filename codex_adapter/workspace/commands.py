"""Run one shell command in a workspace, contained so that none of its processes outlives it (H8 to H10)."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from typing import Final

import msgspec
import trio

from codex_adapter.errors import BackendError, SpawnError
from codex_adapter.events import ExitStatus
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.runtime.containment.marks import new_mark
from codex_adapter.runtime.exhaustion import is_shortage
from codex_adapter.workspace.capture import KEEP, Captured
from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.files import Workspace
from codex_adapter.workspace.outputs import Outputs
from codex_adapter.workspace.sandbox import Sandbox
from codex_adapter.workspace.shell import ShellCall, build_shell_call
from codex_adapter.workspace.steering_files import remove_commondir
from codex_adapter.workspace.working_directory import find_root, open_working_directory

__all__ = ["CommandResult", "run_command"]

_TIMED_OUT: Final = 124
_SIGNALLED: Final = 128


class CommandResult(msgspec.Struct, frozen=True):
    """The exit status and the output of a command (H8, H9).

    `exit_code` is its exit status, 128 + n when signal n killed it, 124 when it was `timed_out`. `duration_ms` is wall
    clock, in milliseconds.
    """

    exit_code: int
    stdout: Captured
    stderr: Captured
    duration_ms: int
    timed_out: bool


async def run_command(
    workspace: Workspace,
    command: str,
    *,
    cwd: str = "",
    env: Mapping[str, str] | None = None,
    timeout: float,  # noqa: ASYNC109 - the command is killed then; the caller continues
    sandbox: Sandbox | None,
    network: bool = False,
    keep: int = KEEP,
    containment: Containment | None = None,
) -> CommandResult:
    """Run `dash -c command` in the directory `cwd` of the workspace, for at most `timeout` seconds.

    The command has the variables `env`, and a few that every command has. `sandbox` separates it from the rest of the
    machine. Without a sandbox the command can do everything that this user can do, and `network` has no effect. `keep`
    bytes of each output are kept. Pass the same `containment` to several commands: it stores which levels of
    containment work on this machine.

    When this returns, raises or is cancelled, no process that the command started is left. Raises `WorkspaceError`
    (H8 to H13).
    """
    started_at = trio.current_time()
    status: ExitStatus | None = None
    with open_working_directory(workspace, cwd) as place:
        call = build_shell_call(
            command, env or {}, environ=os.environ, directory=place.name, announced=sandbox is not None
        )
        root = None if sandbox is None else find_root(workspace)
        if sandbox is not None and root is not None:
            prefix = sandbox.argv(root, place.name, network=network)
            call = ShellCall((*prefix, *call.argv), call.env)
        with _open_outputs(keep, announced=sandbox is not None) as outputs:
            try:
                with trio.move_on_after(timeout) as limit:
                    status = await _run(call, place.path, outputs, containment or Containment())
            finally:
                if root is not None:
                    remove_commondir(root)
            stdout, stderr = outputs.take_rest()
            if status is not None and not outputs.shell_has_started():
                raise WorkspaceError("io", "The sandbox cannot be set up. Check that bubblewrap still works here.")
    return CommandResult(
        exit_code=_TIMED_OUT if status is None else _get_exit_code(status),
        stdout=stdout,
        stderr=stderr,
        duration_ms=round((trio.current_time() - started_at) * 1000),
        timed_out=limit.cancelled_caught,
    )


async def _run(call: ShellCall, cwd: str, outputs: Outputs, containment: Containment) -> ExitStatus:
    """Start the shell and wait until it exits. Leave no process of the command, also after an error (H8)."""
    try:
        contained = await containment.start(
            call.argv, env=call.env, cwd=cwd, pipes=outputs.command_ends, mark=new_mark()
        )
    except OSError as error:
        raise _make_start_error(error, cwd) from None
    except SpawnError as error:
        raise WorkspaceError("io", error.advice or str(error)) from None
    status: ExitStatus | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(outputs.drain)
            with contextlib.suppress(BackendError):
                status = await contained.wait()
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await contained.aclose()
    if status is None:
        raise WorkspaceError(
            "io", "The exit status of the command is unknown. The process that contained it was killed."
        )
    return status


def _open_outputs(keep: int, *, announced: bool) -> Outputs:
    try:
        return Outputs(keep, announced=announced)
    except OSError as error:
        raise _make_start_error(error, "") from None


def _make_start_error(error: OSError, cwd: str) -> WorkspaceError:
    reason = os.strerror(error.errno or 0)
    if is_shortage(error):
        return WorkspaceError("exhausted", f"The system has too few resources to start a command ({reason})")
    if error.errno == errno.E2BIG:
        return WorkspaceError("too_large", "The command and its variables are too long. Put them into a file.")
    if error.filename == cwd:
        return WorkspaceError("denied", f"Working directory: it cannot be entered ({reason})")
    return WorkspaceError("io", f"The shell cannot be started ({reason})")


def _get_exit_code(status: ExitStatus) -> int:
    if status.code is not None:
        return status.code
    return _SIGNALLED + (status.signal_number or 0)
