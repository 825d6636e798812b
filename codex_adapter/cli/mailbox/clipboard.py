"""Outboxes on the clipboard: beside the work, which neither waits for it nor fails with it (C12)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import trio

from codex_adapter.extras import how_to_install
from codex_adapter.workspace import outside_environment

__all__ = ["Clipboard"]

_LIBRARY: Final = "pyperclip"
_PATIENCE: Final = 5.0
_PROGRAM: Final = f"import sys, {_LIBRARY}; {_LIBRARY}.copy(sys.stdin.buffer.read().decode())"
_NOT_INSTALLED: Final = "outboxes are not copied to the clipboard: packages are missing. {}"
_FAILED: Final = "the outbox is not on the clipboard: install wl-clipboard, xclip or xsel, or copy the file"


class Clipboard:
    """Copies files in tasks of `nursery`, a later one in place of an earlier one; `remark` receives what fails.

    Nothing in `workspace` is run for it.
    """

    def __init__(self, nursery: trio.Nursery, remark: Callable[[str], Awaitable[object]], *, workspace: str) -> None:
        self._nursery = nursery
        self._remark = remark
        self._env = outside_environment(os.environ, workspace)
        self._copying = trio.CancelScope()

    def copy(self, file: Path) -> None:
        """Begin to copy a file's text."""
        self._copying.cancel()
        self._copying = trio.CancelScope()
        self._nursery.start_soon(self._copy, file, self._copying)

    async def _copy(self, file: Path, copying: trio.CancelScope) -> None:
        with copying:
            if find_spec(_LIBRARY) is None:
                await self._remark(_NOT_INSTALLED.format(how_to_install("mailbox")))
            elif not await _copied(file, self._env):
                await self._remark(_FAILED)


async def _copied(file: Path, env: Mapping[str, str]) -> bool:
    # In a process of its own: what it starts stays behind to give the clipboard away, and would do so with our standard
    # error in its hand, and for our terminal's signals to end.
    with trio.move_on_after(_PATIENCE), suppress(OSError):
        done = await trio.run_process(
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=file.read_bytes(),
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
            deliver_cancel=_kill_all,
        )
        return done.returncode == 0
    return False


async def _kill_all(process: trio.Process) -> None:  # noqa: ASYNC124 - what trio calls when cancelled
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
