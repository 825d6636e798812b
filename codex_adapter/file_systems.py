"""Bound the harm of a file system that does not answer: the time of callers, the number of threads (K7)."""

from __future__ import annotations

import errno
import math
import os
import posixpath
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import trio

from codex_adapter.errors import BackendError

__all__ = [
    "PATIENCE",
    "Inquiry",
    "advice_on",
    "inquire",
    "longest_work",
    "mount_points",
    "no_inquiry",
    "unanswered",
    "work_through",
]

PATIENCE: Final = 10.0
"""Seconds after which a file system counts as dead."""
_SLOW: Final = 0.25
"""Seconds after which an inquiry gives its place to another one that may be answered."""
_AT_ONCE: Final = 40
_MOST_WAITS: Final = 3
"""How often a delayed inquiry gets its seconds again. A busy event loop can delay the start of an inquiry."""
_ON_ONE_MOUNT: Final = 8
"""The limit of slow threads on one mount. Beyond it, other inquiries to the mount wait without a thread."""
_MOST_LINKS: Final = 40
_T = TypeVar("_T")


class _Crowded(Exception):
    """The limit of threads that may wait for this mount is reached."""


class Inquiry:
    """A question to the file system, asked in a thread."""

    def __init__(self, role: str = "file system") -> None:
        self.role = role
        """The subject of the inquiry, in words for an error."""
        self.here = "/"
        """The path that the thread accesses, without symbolic links."""
        self.abandoned = False
        """Whether the result is not needed any more."""
        self.answer: list[Any] = []
        """The value that the thread returned; empty until it returns."""
        self._begun = math.inf
        self._mounts = _Mounts([])

    @property
    def has_begun(self) -> bool:
        """Whether the start of the thread was requested."""
        return self._begun < math.inf

    def begin(self, mounts: _Mounts) -> None:
        """Record that the thread starts and must not access crowded `mounts`."""
        self._begun = time.monotonic()
        self._mounts = mounts

    def at(self, role: str, path: str) -> None:
        """Record that `path` is the next path, and follow its links without entering a crowded mount."""
        self.role, self.here = role, "/"
        links = 0
        rest = (path if path.startswith("/") else posixpath.join(Path.cwd(), path)).split("/")[::-1]
        while rest:
            name = rest.pop()
            if name in ("", "."):
                continue
            if name == "..":
                self.here = posixpath.dirname(self.here)
                continue
            self.here = posixpath.join(self.here, name)
            self._mounts.refuse_crowded(self.here)
            try:
                target = os.readlink(self.here)  # noqa: PTH115 - the path may hold any characters
            except (OSError, ValueError) as error:
                if getattr(error, "errno", None) == errno.EINVAL:
                    continue  # not a link
                return
            links += 1
            if links > _MOST_LINKS:
                return
            self.here = "/" if target.startswith("/") else posixpath.dirname(self.here)
            rest += target.split("/")[::-1]

    def is_slow(self) -> bool:
        """Return whether the thread counts as one that waits for a mount."""
        return self.abandoned or time.monotonic() - self._begun > _SLOW


def no_inquiry(_role: str, _path: str) -> None:
    """Do nothing. Callers without a limit pass this as `Inquiry.at`."""


class _Mounts:
    """The mounts that have reached their limit of waiting threads. Only text is compared, which never blocks."""

    def __init__(self, waiting: list[str]) -> None:
        self._points: list[str] = []
        self._crowded: set[str] = set()
        if len(waiting) >= _ON_ONE_MOUNT:
            with suppress(OSError):
                self._points = [point.rstrip("/") + "/" for point in mount_points()]
            counts = Counter(map(self._of, waiting))
            self._crowded = {mount for mount, count in counts.items() if count >= _ON_ONE_MOUNT}

    def refuse_crowded(self, path: str) -> None:
        """Raise `_Crowded` for a path on such a mount."""
        if self._crowded and self._of(path) in self._crowded:
            raise _Crowded

    def _of(self, path: str) -> str:
        within = f"{path}/"
        return max((point for point in self._points if within.startswith(point)), key=len, default="/")


def mount_points(process: int | str = "self") -> list[str]:
    """Return the mount points of a process, by its id. Raise OSError if they are unknown."""
    with Path(f"/proc/{process}/mountinfo").open(encoding="utf-8", errors="surrogateescape") as file:
        return [_unescape(line.split(" ")[4]) for line in file]


def _unescape(point: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), point)


class _Inquiries:
    """All inquiries of one event loop with a live thread."""

    def __init__(self) -> None:
        self._places = trio.CapacityLimiter(_AT_ONCE)
        self._alive: set[Inquiry] = set()
        self._sweeping = False
        self._mounts, self._looked = _Mounts([]), 0.0
        self._token = trio.lowlevel.current_trio_token()
        self._answered = trio.Event()

    async def ask(self, work: Callable[..., _T], args: tuple[Any, ...], seconds: float) -> _T:
        """Do the work of `inquire`."""
        inquiry = Inquiry()
        for _ in range(_MOST_WAITS):
            with trio.move_on_after(seconds):
                try:
                    while True:
                        inquiry = Inquiry(inquiry.role)
                        answered = self._answered
                        with suppress(_Crowded):
                            return await self._ask_once(inquiry, work, args)
                        await answered.wait()
                except trio.Cancelled:
                    _UNANSWERED.set(inquiry.role)
                    raise
            # On a busy machine the event loop may start the inquiry late, or handle its result late.
            if inquiry.answer:
                return cast("_T", inquiry.answer[0])
            if inquiry.has_begun:
                break
        raise BackendError("io", advice=advice_on(inquiry.role, f"did not answer within {seconds:g} s"))

    async def _ask_once(self, inquiry: Inquiry, work: Callable[..., _T], args: tuple[Any, ...]) -> _T:
        await self._take_place(inquiry)
        if time.monotonic() - self._looked > _SLOW / 2:
            self._look()
        inquiry.begin(self._mounts)
        self._alive.add(inquiry)
        try:
            return await trio.to_thread.run_sync(
                partial(self._in_thread, inquiry, work, args), abandon_on_cancel=True, limiter=trio.CapacityLimiter(1)
            )
        except trio.Cancelled:
            inquiry.abandoned = True
            self._looked = 0.0
            raise
        except RuntimeError:
            # No thread can be started, so this thread does the work.
            self._alive.discard(inquiry)
            return work(inquiry, *args)
        finally:
            self._give_place(inquiry)

    def _in_thread(self, inquiry: Inquiry, work: Callable[..., _T], args: tuple[Any, ...]) -> _T:
        try:
            answer = work(inquiry, *args)
            inquiry.answer.append(answer)
            return answer
        finally:
            self._alive.discard(inquiry)
            if inquiry.is_slow():
                with suppress(trio.RunFinishedError):
                    self._token.run_sync_soon(self._wake)

    def _wake(self) -> None:
        self._look()
        self._answered.set()
        self._answered = trio.Event()

    async def _take_place(self, inquiry: Inquiry) -> None:
        if not self._places.available_tokens and not self._sweeping:
            self._sweeping = True
            trio.lowlevel.spawn_system_task(self._sweep)
        await self._places.acquire_on_behalf_of(inquiry)

    async def _sweep(self) -> None:
        """Take the places of slow inquiries away while no place is free."""
        while not self._places.available_tokens:
            await trio.sleep(_SLOW / 2)
            for inquiry in list(self._alive):
                if inquiry.is_slow():
                    self._give_place(inquiry)
            self._look()
        self._sweeping = False

    def _look(self) -> None:
        """Find the crowded mounts."""
        self._mounts = _Mounts([it.here for it in list(self._alive) if it.is_slow()])
        self._looked = time.monotonic()

    def _give_place(self, inquiry: Inquiry) -> None:
        with suppress(RuntimeError):  # it was released before
            self._places.release_on_behalf_of(inquiry)


_UNANSWERED: ContextVar[str | None] = ContextVar("codex_adapter.unanswered", default=None)
_INQUIRIES: trio.lowlevel.RunVar[_Inquiries] = trio.lowlevel.RunVar("codex_adapter.inquiries")


async def inquire(work: Callable[..., _T], *args: Any, seconds: float = PATIENCE) -> _T:
    """Return `work(inquiry, *args)`, called in a thread that announces each path with `inquiry.at`.

    Raise `BackendError` (`io`) with advice if there is no result in time. The thread is then abandoned, as after a
    cancellation. An abandoned thread does not delay inquiries to other file systems, and the number of threads is
    bounded (K7).
    """
    try:
        inquiries = _INQUIRIES.get()
    except LookupError:
        inquiries = _Inquiries()
        _INQUIRIES.set(inquiries)
    return await inquiries.ask(work, args, seconds)


def advice_on(role: str, problem: str) -> str:
    """Return advice about a file system with this problem."""
    return f"The {role} {problem}. Check its file system (a network mount may be down)."


def unanswered() -> str | None:
    """Return the role of this task's inquiry that was cancelled last."""
    return _UNANSWERED.get()


_working: dict[object, float] = {}
_lock = threading.Lock()


async def work_through(work: Callable[..., _T], *args: Any) -> _T:
    """Return `work(*args)`, called in a thread that no cancellation abandons, and count its time in `longest_work`.

    If no thread can be started, this thread does the work (E6).
    """
    begun = False

    def once() -> _T:
        nonlocal begun
        begun = True
        key = object()
        with _lock:
            _working[key] = time.monotonic()
        try:
            return work(*args)
        finally:
            with _lock:
                del _working[key]

    try:
        return await trio.to_thread.run_sync(once)
    except RuntimeError:
        if begun:
            raise
        return once()


def longest_work() -> float:
    """Return the duration in seconds of the oldest call of `work_through`, 0 without a call."""
    with _lock:
        return time.monotonic() - min(_working.values(), default=time.monotonic())
