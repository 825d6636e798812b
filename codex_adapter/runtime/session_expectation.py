"""Check that a run continues the requested session, for agents whose sessions can be listed before the run (S9)."""

from __future__ import annotations

import msgspec

from codex_adapter.core.error_texts import NO_SESSION_FOUND, SESSION_NOT_FOUND
from codex_adapter.errors import BackendError

__all__ = ["SessionExpectation"]


class SessionExpectation(msgspec.Struct, frozen=True):
    """The session that a run resumes or forks: the session with the id `wanted`, or the last one if it is None.

    A fork has a new id, so the id is checked only for a resume. `known` has the ids of the sessions in the directory of
    the run; it is used only for the last session.
    """

    wanted: str | None
    fork: bool
    known: frozenset[str] = frozenset()

    def refuses(self, session_id: str) -> BackendError | None:
        """Return an error if the run's first session id shows another session than the requested one, else None."""
        if self.fork:
            return None
        allowed = self.known if self.wanted is None else {self.wanted}
        return None if session_id in allowed else self.missing()

    def missing(self) -> BackendError:
        """Return the error for a session that does not exist."""
        text = NO_SESSION_FOUND if self.wanted is None else SESSION_NOT_FOUND
        return BackendError("session", text, hint="session_unknown")
