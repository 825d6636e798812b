"""Read and write the states of sessions (I12, I15)."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from codex_adapter.protocols.mailbox.layout import MailboxError, MailboxLayout, write_whole
from codex_adapter.protocols.mailbox.messages import SessionState

__all__ = ["Clock", "SessionSettings", "SessionStore", "utc_now"]

Clock: TypeAlias = Callable[[], str]
_decoder: Final = msgspec.json.Decoder(SessionState)


class SessionSettings(msgspec.Struct, frozen=True):
    """The settings of a session: the real path of its workspace."""

    workspace: str


def utc_now() -> str:
    """Return the time in ISO 8601, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class SessionStore:
    """The sessions of a mailbox. Every method raises `MailboxError`."""

    def __init__(self, layout: MailboxLayout, clock: Clock = utc_now) -> None:
        self._layout = layout
        self._clock = clock

    def all(self) -> list[SessionState]:
        """Return the states of all sessions, the oldest first."""
        return sorted(
            map(self.load, self._layout.sessions()), key=lambda state: (state.created_at, self._begun_at(state))
        )

    def open(self) -> SessionState | None:
        """Return the state of the session that is not complete; None if all are complete."""
        return next((state for state in self.all() if not state.is_complete), None)

    def begin(self, task: str, settings: SessionSettings) -> SessionState:
        """Write and return the state of a new session, with sequence number 1."""
        taken = set(self._layout.sessions())
        id_ = next(new for new in iter(_new_id, "") if new not in taken)
        write_whole(self._layout.settings_file(id_), msgspec.json.encode(settings))
        now = self._clock()
        state = SessionState(
            session_id=id_, task=task, sequence_number=1, is_complete=False, created_at=now, updated_at=now
        )
        self._write(state)
        return state

    def save(self, state: SessionState) -> SessionState:
        """Write a state with the present time, and return it."""
        state = replace(state, updated_at=self._clock())
        self._write(state)
        return state

    def complete(self, state: SessionState) -> SessionState:
        """Write the state of a session as complete, and return it."""
        return self.save(replace(state, is_complete=True))

    def load(self, session: str) -> SessionState:
        """Return the state of a session."""
        try:
            state = _decoder.decode(self._read(self._layout.session_file(session)))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise MailboxError(
                f"sessions/{session}.json is damaged or not the state of a session. Restore it"
            ) from None
        if state.session_id != session or state.sequence_number < 1:
            raise MailboxError(f"sessions/{session}.json is damaged or not the state of a session. Restore it")
        return state

    def settings(self, session: str) -> SessionSettings:
        """Return the settings of a session."""
        try:
            settings = msgspec.json.decode(self._read(self._layout.settings_file(session)), type=SessionSettings)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            settings = SessionSettings("")
        if not settings.workspace.startswith("/") or "\0" in settings.workspace:
            raise MailboxError(f"rounds/{session}.json is damaged. Restore it")
        return settings

    def _begun_at(self, state: SessionState) -> int:
        """Return the time of the settings file, which is written once: it orders sessions of the same second."""
        try:
            return self._layout.settings_file(state.session_id).stat().st_mtime_ns
        except OSError:
            return 0

    def _write(self, state: SessionState) -> None:
        data = msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n"
        write_whole(self._layout.session_file(state.session_id), data)

    def _read(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            problem = f"{path.parent.name}/{path.name} cannot be read ({os.strerror(error.errno or 0)})"
            raise MailboxError(f"{problem}. Restore it") from None


def _new_id() -> str:
    return uuid.uuid4().hex[:8]
