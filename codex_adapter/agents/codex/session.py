"""Check that a run continues the session that it was asked to continue (S9).

For many sessions that it cannot find, the CLI silently starts a new thread; only the thread id shows it.
"""

from __future__ import annotations

import time
import uuid

import msgspec

from codex_adapter.core.error_texts import NO_SESSION_FOUND, SESSION_NOT_FOUND
from codex_adapter.errors import BackendError

__all__ = ["SessionExpectation"]


class SessionExpectation(msgspec.Struct, frozen=True):
    """The session that a resuming or forking run must find: the one `wanted`, or with None the last one.

    A fork has an id of its own, so only a resume is checked by the id.
    """

    wanted: str | None
    fork: bool
    started_ms: int = msgspec.field(default_factory=lambda: int(time.time() * 1000))

    def refuses(self, thread_id: str) -> BackendError | None:
        """Return the error if the run's first thread id is not that of the requested session, else None."""
        if self.fork:
            return None
        if self.wanted is None:
            return self.missing() if self._is_new(thread_id) else None
        return None if thread_id == self.wanted else self.missing()

    def missing(self) -> BackendError:
        """Return the error for a session that does not exist."""
        text = NO_SESSION_FOUND if self.wanted is None else SESSION_NOT_FOUND
        return BackendError("session", text, hint="session_unknown")

    def _is_new(self, thread_id: str) -> bool:
        # Thread ids are UUIDs of version 7: the first 48 bits are the time of creation in milliseconds.
        try:
            parsed = uuid.UUID(thread_id)
        except ValueError:
            return False
        return parsed.version == 7 and parsed.int >> 80 >= self.started_ms
