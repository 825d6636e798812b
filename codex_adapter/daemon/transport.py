"""What connects a daemon and its supervisor."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Wires"]


class Wires(Protocol):
    """Bytes from the supervisor, and lines to it."""

    async def receive_some(self) -> bytes:
        """The next bytes of the supervisor; empty at their end."""

    async def write(self, data: bytes) -> bool:
        """Write whole lines at the supervisor's pace; False when it will read no more."""

    def write_now(self, data: bytes) -> int:
        """Write what there is room for at once, and tell how many bytes that was; `write` the rest before all else."""

    async def wait_reader_gone(self) -> None:
        """Return when nobody reads any more, as far as that can be told without writing."""
