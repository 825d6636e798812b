"""Detect commands that the sandbox of the CLI did not start (F12)."""

from __future__ import annotations

import re
from typing import Final

from codex_adapter.core.sandbox_watch import bubblewrap_failed

__all__ = ["was_started"]

_LANDLOCK: Final = re.compile(
    r"(?:failed in sandbox: )?\s{0,2}thread '[^'\n]{1,64}' (?:\(\d{1,10}\) )?panicked at linux-sandbox/src/"
)
"""The output of the helper of releases up to 0.77. Its exit status is 101; the oldest releases print it as -1."""


def was_started(command: str, output: str, exit_code: int) -> bool | None:
    """Return True if a completed command was started, False if the sandbox failed, None if unknown (F12).

    A command that names the sandbox proves nothing: it may print the same messages, or start its own sandbox.
    """
    if bubblewrap_failed(output, exit_code) or (exit_code in (-1, 101) and _LANDLOCK.match(output)):
        return None if "bwrap" in command or "linux-sandbox" in command else False
    return True if exit_code >= 0 else None
