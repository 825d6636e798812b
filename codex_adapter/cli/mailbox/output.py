"""Write the events of a mailbox to standard output, one at a time, while a reader exists (C12)."""

from __future__ import annotations

import trio

from codex_adapter.cli.output import Output
from codex_adapter.cli.present.views import View
from codex_adapter.protocols.mailbox.events import MailboxEvent

__all__ = ["SessionOutput"]


class SessionOutput:
    """The output of a session: each event as it arrives, and live lines that are refreshed."""

    def __init__(self, output: Output, view: View[MailboxEvent]) -> None:
        self._output = output
        self._view = view
        self._writing = trio.Lock()
        self._reader_left = trio.Event()

    @property
    def reader_has_left(self) -> bool:
        """Whether the reader of standard output left."""
        return self._reader_left.is_set()

    async def observe(self, event: MailboxEvent) -> None:
        """Show an event."""
        async with self._writing:
            await self._write(self._view.show([event]))

    async def keep_fresh(self) -> None:
        """Refresh the live lines until cancelled."""
        if self._view.refresh_seconds is None:
            return
        while True:
            await trio.sleep(self._view.refresh_seconds)
            async with self._writing:
                await self._write(self._view.refresh())

    async def end(self) -> None:
        """Remove the live lines."""
        async with self._writing:
            await self._write(self._view.end())

    async def wait_reader_closed(self) -> None:
        """Return when the reader left."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            await self._reader_left.wait()
            nursery.cancel_scope.cancel()

    async def _watch(self) -> None:
        await self._output.wait_reader_closed()
        self._reader_left.set()

    async def _write(self, data: bytes) -> None:
        if data and not await self._output.write(data):
            self._reader_left.set()
