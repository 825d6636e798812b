"""Kill until no process is found, for a bounded time, and log the processes that are left (K4)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import trio

from codex_adapter.runtime.containment.marks import marked, pids

__all__ = ["descendants", "kill_until_none_is_found", "log_left"]

_SECONDS: Final = 1.0
_ROUND_SECONDS: Final = 0.005
_LONGEST_LIST: Final = 20
_T = TypeVar("_T")
_log = logging.getLogger("codex_adapter")


async def kill_until_none_is_found(kill: Callable[[], bool]) -> bool:
    """Call `kill` until it returns False, for at most a second. Return whether it did."""
    with trio.move_on_after(_SECONDS):
        while True:
            if not await _in_thread(kill):
                return True
            await trio.sleep(_ROUND_SECONDS)
    return False


async def descendants(pid: int) -> list[int]:
    """Return the living descendants of an unreaped child of this process; none if the search takes too long."""
    with trio.move_on_after(_SECONDS):
        return await _in_thread(lambda: _find_descendants(pid))
    return []


async def log_left(mark: str, found: Iterable[int]) -> None:
    """Log the living processes among `found` and among all with the mark (K4)."""
    with trio.move_on_after(_SECONDS):
        candidates = await _in_thread(lambda: sorted({*found, *marked(mark)}))
        left = [process for pid in candidates if (process := _read(pid)) is not None]
        if left:
            texts = [
                f"{each.pid} {each.name!r} (user {each.user}, state {each.state})" for each in left[:_LONGEST_LIST]
            ]
            if left[_LONGEST_LIST:]:
                texts.append("...")
            _log.warning("SIGKILL did not end %d of a run's processes: %s", len(left), ", ".join(texts))


class _Process(NamedTuple):
    pid: int
    parent: int
    name: str
    user: int
    state: str


async def _in_thread(function: Callable[[], _T]) -> _T:
    # Reading about a process can block, even for ever if the process waits for a file system. Other runs continue.
    try:
        return await trio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1))
    except RuntimeError:  # no thread can be started
        return function()


def _find_descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for process in filter(None, map(_read, pids())):
        children.setdefault(process.parent, []).append(process.pid)
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _read(pid: int) -> _Process | None:
    """Return a living process; None if it has exited or cannot be read."""
    try:
        path = Path(f"/proc/{pid}/stat")
        before, _, after = path.read_bytes().rpartition(b")")
        state, parent = after.split()[:2]
        user = path.stat().st_uid
    except (OSError, ValueError):
        return None
    if state in (b"Z", b"X"):
        return None
    return _Process(pid, int(parent), before.partition(b"(")[2].decode(errors="replace"), user, state.decode())
