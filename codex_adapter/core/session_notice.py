"""The session's id on its way to the consumer: once a run, on the first status event that can carry it (M5)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from codex_adapter.agents.codex.stream.context import usable_id
from codex_adapter.core.notices import status_event
from codex_adapter.events import Event, Session, SessionHandle

__all__ = ["SessionNotice"]


class SessionNotice:
    """What is to be told of the session and has not been told yet; `waiting` while there is something."""

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.waiting = False
        self._handle: SessionHandle | None = None
        self._message: str | None = None
        self._oversize_told = False

    def shown(self, thread_id: str, mask: Callable[[str], str]) -> str | None:
        """A thread's id as events may show it, None where they may not; the first is the session's."""
        if usable_id(thread_id):
            masked = mask(thread_id)
            if self.session_id is None:
                self.known(masked)
            return masked
        if thread_id.strip():
            self.oversize(len(thread_id.encode()))
        return None

    def known(self, session_id: str) -> None:
        """The run's session has this id."""
        self.session_id = session_id
        self._handle = SessionHandle(Session(session_id))
        self.waiting = True

    def oversize(self, length: int) -> None:
        """An id of `length` bytes was seen, too long to be one; told once."""
        if not self._oversize_told:
            self._oversize_told = self.waiting = True
            self._message = f"session handle id oversize: len_bytes={length}"

    def put_on(self, event: Event) -> list[Event]:
        """The event with what was waiting; or after one more event, where its own places are taken."""
        if event.kind != "status" and self._message is None:
            return [event]
        message, data = self._message, self._handle
        self._message = self._handle = None
        self.waiting = False
        if (
            event.kind == "status"
            and (message is None or event.message is None)
            and (data is None or event.data is None)
        ):
            return [replace(event, message=message or event.message, data=data or event.data)]
        return [status_event(event.seq, message, data), replace(event, seq=event.seq + 1)]

    def at_the_end(self, seq: int) -> list[Event]:
        """The id as an event of its own, when no status event came that could carry it."""
        handle, self._handle = self._handle, None
        return [] if handle is None else [status_event(seq, data=handle)]
