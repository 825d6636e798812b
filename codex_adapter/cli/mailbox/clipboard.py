"""Copy outboxes to the clipboard. The work does not wait for a copy, and does not fail with it (C12)."""

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
from codex_adapter.workspace import isolate_environment

__all__ = ["Clipboard"]

_LIBRARY: Final = "pyperclip"
_PATIENCE: Final = 5.0
_PROGRAM: Final = f"import sys, {_LIBRARY}; {_LIBRARY}.copy(sys.stdin.buffer.read().decode())"
_NOT_INSTALLED: Final = "Outboxes are not copied to the clipboard: packages are missing. {}"
_FAILED: Final = "The outbox is not on the clipboard. Install wl-clipboard, xclip or xsel, or copy the file."


class Clipboard:
    """The clipboard. Files are copied in tasks of `nursery`; a later file replaces an earlier one.

    `remark` receives failures. No program in `workspace` is executed for it.
    """

    def __init__(self, nursery: trio.Nursery, remark: Callable[[str], Awaitable[object]], *, workspace: str) -> None:
        self._nursery = nursery
        self._remark = remark
        self._env = isolate_environment(os.environ, workspace)
        self._copying = trio.CancelScope()

    def copy(self, file: Path) -> None:
        """Start to copy the text of a file."""
        self._copying.cancel()
        self._copying = trio.CancelScope()
        self._nursery.start_soon(self._copy, file, self._copying)

    async def _copy(self, file: Path, copying: trio.CancelScope) -> None:
        with copying:
            if find_spec(_LIBRARY) is None:
                await self._remark(_NOT_INSTALLED.format(how_to_install("mailbox")))
            elif not await _copy_text(file, self._env):
                await self._remark(_FAILED)


async def _copy_text(file: Path, env: Mapping[str, str]) -> bool:
    # In a separate process: a clipboard program stays alive to serve the clipboard. It must not keep our standard error
    # open, and signals of our terminal must not end it.
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


async def _kill_all(process: trio.Process) -> None:  # noqa: ASYNC124 - trio calls it on a cancellation
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
