"""The run's mark in the environment of its processes: how to give it, and how to find who carries it (K4, N4)."""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

__all__ = ["MARK_VARIABLE", "kill_marked", "marked", "new_mark", "with_mark"]

MARK_VARIABLE: Final = "CODEX_ADAPTER_RUN"


def new_mark() -> str:
    """A mark that no other run has; it begins with the process id of this adapter."""
    return f"{os.getpid()}-{uuid.uuid4().hex}"


def with_mark(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment of a run with its mark.

    An adapter inside a run keeps the outer run's mark, so that the outer run still knows its processes.
    """
    return {**env, MARK_VARIABLE: ":".join(filter(None, (env.get(MARK_VARIABLE), mark)))}


def marked(mark: str) -> Iterator[int]:
    """Living processes that carry the mark; one about to be gone has no environment any more."""
    wanted = mark.encode()
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - names are all that is needed, and there are many
    except OSError:
        return
    for name in names:
        if name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in Path("/proc", name, "environ").read_bytes():
                    yield int(name)


def kill_marked(mark: str) -> bool:
    """SIGKILL to all that carry the mark now; whether there was any."""
    found = False
    for pid in marked(mark):
        found = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return found
