"""Report the session's id to the consumer once in a run, on the first status event with room for it (M5)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from codex_adapter.core.notices import status_event
from codex_adapter.events import Event, Session, SessionHandle

__all__ = ["SessionNotice", "is_usable_id"]

_LONGEST_ID = 1024


def is_usable_id(session_id: str) -> bool:
    """Return whether an id can be resumed: it is not blank and has at most 1024 bytes (M5)."""
    return bool(session_id.strip()) and len(session_id.encode()) <= _LONGEST_ID


class SessionNotice:
    """The session's id, or the warning about it, that no event has shown yet. `waiting` is True while there is one."""

    def __init__(self, agent_kind: str) -> None:
        self.session_id: str | None = None
        self.waiting = False
        self._agent_kind = agent_kind
        self._handle: SessionHandle | None = None
        self._message: str | None = None
        self._oversize_reported = False

    def mask_id(self, session_id: str, mask: Callable[[str], str]) -> str | None:
        """Return the masked id for events, None if events must not show it. The first id is the session's."""
        if is_usable_id(session_id):
            masked = mask(session_id)
            if self.session_id is None:
                self.session_id = masked
                self._handle = SessionHandle(Session(masked))
                self.waiting = True
            return masked
        if session_id.strip() and not self._oversize_reported:
            self._oversize_reported = self.waiting = True
            self._message = f"session handle id oversize: len_bytes={len(session_id.encode())}"
        return None

    def attach_to(self, event: Event) -> list[Event]:
        """Return the event with the id; if its fields are in use, return a status event with the id before it."""
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
        return [status_event(self._agent_kind, message, data), event]

    def finish(self) -> list[Event]:
        """Return the id as an event of its own if no status event had room for it."""
        handle, self._handle = self._handle, None
        return [] if handle is None else [status_event(self._agent_kind, data=handle)]
