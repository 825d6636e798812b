"""Detect a sandbox of the agent CLI that starts none of the commands of a run (F12)."""

from __future__ import annotations

import re
from typing import Final

from codex_adapter.core.notices import error_event
from codex_adapter.events import Event, HintNotice
from codex_adapter.hints import Hint

__all__ = ["SandboxWatch", "bubblewrap_failed", "sandbox_failed"]

_BUBBLEWRAP: Final = re.compile(r"bwrap: [^\r\n]{1,1000}\r?\n?")
"""The complete output of bubblewrap when it fails; its exit status is 1."""


class SandboxWatch:
    """Whether the sandbox starts commands: `works` is None until a command has shown it.

    A command that was started later wins over earlier failures.
    """

    __slots__ = ("works",)

    def __init__(self) -> None:
        self.works: bool | None = None

    def command_ended(self, started: bool | None) -> bool:
        """Record whether a command was started, if it is known. Return True for the first one that was not."""
        first = started is False and self.works is None
        if started is not None and not self.works:
            self.works = started
        return first

    @property
    def hint(self) -> Hint | None:
        """The hint of a run whose sandbox started no command, else None."""
        return "sandbox_unavailable" if self.works is False else None


def bubblewrap_failed(output: str, exit_code: int) -> bool:
    """Return whether the output and the exit status of a command are those of bubblewrap when it fails."""
    return exit_code == 1 and _BUBBLEWRAP.fullmatch(output) is not None


def sandbox_failed(agent_kind: str, advice: str) -> Event:
    """Return the notice that follows the result of the first command that was not started (X2, M8)."""
    notice = HintNotice("sandbox_unavailable", advice)
    return error_event(agent_kind, f"{agent_kind} sandbox cannot start: commands fail", notice)
