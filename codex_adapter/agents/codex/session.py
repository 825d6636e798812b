"""Check that a run continues the requested session (S9).

If the CLI does not find a session, it often starts a new thread without an error. Only the thread id shows this.
"""

from __future__ import annotations

import time
import uuid

import msgspec

from codex_adapter.core.error_texts import NO_SESSION_FOUND, SESSION_NOT_FOUND
from codex_adapter.errors import BackendError

__all__ = ["SessionExpectation"]


class SessionExpectation(msgspec.Struct, frozen=True):
    """The session that a run resumes or forks: the session with the id `wanted`, or the last one if it is None.

    A fork has a new id, so the id is checked only for a resume.
    """

    wanted: str | None
    fork: bool
    started_ms: int = msgspec.field(default_factory=lambda: int(time.time() * 1000))

    def refuses(self, thread_id: str) -> BackendError | None:
        """Return an error if the run's first thread id shows another session than the requested one, else None."""
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
