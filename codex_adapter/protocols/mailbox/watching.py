"""Wait for changes in a directory, with the system's notifications if they are available (I16)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from inotify_simple import INotify

__all__ = ["Watch", "watched"]

_POLL_SECONDS: Final = 1.0
_NOTIFIED_POLL_SECONDS: Final = 10.0
"""Seconds between two checks in spite of notifications: other machines cause none."""


class Watch:
    """A watch of a directory. `notified` is true if the system reports changes."""

    def __init__(self, notify: INotify | None) -> None:
        self._notify = notify
        self.notified: Final = notify is not None

    async def changed(self, at_most: float | None = None) -> None:
        """Return after a change, or after the polling interval, or after `at_most` seconds."""
        patience = _POLL_SECONDS if self._notify is None else _NOTIFIED_POLL_SECONDS
        with trio.move_on_after(patience if at_most is None else min(at_most, patience)):
            if self._notify is None:
                await trio.sleep_forever()
            else:
                await trio.lowlevel.wait_readable(self._notify.fileno())
                self._notify.read(timeout=0)


@contextmanager
def watched(directory: Path) -> Iterator[Watch]:
    """Open a watch of a directory."""
    with ExitStack() as opened:
        yield Watch(_notifications(directory, opened))


def _notifications(directory: Path, opened: ExitStack) -> INotify | None:
    """Return the system's notifications; None without the library, or at the limit of the system."""
    try:
        from inotify_simple import INotify, flags  # noqa: PLC0415 - optional

        notify = opened.enter_context(INotify(nonblocking=True))
        notify.add_watch(directory, flags.CREATE | flags.CLOSE_WRITE | flags.MOVED_TO | flags.ATTRIB)
    except (ImportError, OSError):
        return None
    return notify
