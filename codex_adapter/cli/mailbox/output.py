"""What happens in a mailbox, written to standard output by one writer at a time, while there is a reader (C12)."""

from __future__ import annotations

import trio

from codex_adapter.cli.output import Output
from codex_adapter.cli.present.views import View
from codex_adapter.protocols.mailbox.events import MailboxEvent

__all__ = ["Showing"]


class Showing:
    """Shows each happening as it comes, and keeps what is live fresh."""

    def __init__(self, output: Output, view: View[MailboxEvent]) -> None:
        self._output = output
        self._view = view
        self._writing = trio.Lock()
        self._gone = trio.Event()

    @property
    def reader_has_left(self) -> bool:
        """Whether nobody reads any more."""
        return self._gone.is_set()

    async def observe(self, happening: MailboxEvent) -> None:
        """Show it."""
        async with self._writing:
            await self._write(self._view.show([happening]))

    async def keep_fresh(self) -> None:
        """Show what is live anew, until cancelled."""
        if self._view.refresh_seconds is None:
            return
        while True:
            await trio.sleep(self._view.refresh_seconds)
            async with self._writing:
                await self._write(self._view.refresh())

    async def end(self) -> None:
        """Take away what is live."""
        async with self._writing:
            await self._write(self._view.end())

    async def wait_reader_closed(self) -> None:
        """Return when nobody reads any more."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            await self._gone.wait()
            nursery.cancel_scope.cancel()

    async def _watch(self) -> None:
        await self._output.wait_reader_closed()
        self._gone.set()

    async def _write(self, data: bytes) -> None:
        if data and not await self._output.write(data):
            self._gone.set()
