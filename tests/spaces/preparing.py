"""Prepare environments in a process of its own: `python preparing.py HOW HOME ...`.

`once HOME REFERENCE...` waits for a line on stdin, prepares, and prints `{id}@{version}` of each space.
`again HOME DIR` prepares a space in DIR repeatedly, with a change each time, until it is killed.
`killed HOME FIRST STEP REFERENCE...` prepares in child processes, each with its own copy of HOME. Each child is killed
before another call. The program prints the directories of these copies.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from codex_adapter.spaces import prepare


def _once(home: str, *references: str) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    found = prepare(home, references)
    print(" ".join(f"{space.id}@{space.version}" for space in found.spaces), flush=True)


def _again(home: str, directory: str) -> None:
    for number in count():
        Path(directory, "AGENTS.md").write_text(f"{directory} {number}")
        prepare(home, [f"space:path:{directory}", "space:shared@^1"])
        print(number, flush=True)


class _Killer:
    """Ends the process before so many calls of C functions."""

    def __init__(self, left: int) -> None:
        self._left = left

    def __call__(self, _frame: FrameType, event: str, _function: Any) -> None:
        self._left -= event == "c_call"
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


def _killed(home: str, first: str, step: str, *references: str) -> None:
    for limit in count(int(first), int(step)):
        copy = f"{home}-{limit}"
        shutil.copytree(home, copy, symlinks=True)
        child = os.fork()
        if not child:
            sys.setprofile(_Killer(limit))
            prepare(copy, references)
            os._exit(0)
        print(copy, flush=True)
        if not os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            return


if __name__ == "__main__":
    how, *arguments = sys.argv[1:]
    ways: dict[str, Callable[..., None]] = {"once": _once, "again": _again, "killed": _killed}
    ways[how](*arguments)
