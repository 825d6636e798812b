"""Rewrite the PI_CODING_AGENT_DIR of a conversation for each turn, except the sessions (U9, U17)."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from typing_extensions import override

from codex_adapter.durable import write_new, write_whole
from codex_adapter.harness.conversation_home import ConversationHome, starts_with_line
from codex_adapter.turn_errors import TurnError

__all__ = ["PiHome"]

_KEPT: Final = ("sessions",)
_VERSION: Final = 3
"""The version of the file of a session, which every supported release reads."""


class PiHome(ConversationHome):
    """The PI_CODING_AGENT_DIR below a conversation's directory. Its methods block and raise OSError."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "pi", _KEPT)
        self.sessions: Final = self.path / "sessions"

    @override
    def has(self, session: str) -> bool:
        """Implement `ConversationHome.has`, for any working directory."""
        return any(path.is_file() and starts_with_line(path) for path in self._files(session))

    def begin(self, cwd: str) -> str:
        """Create a session without a message, and return its id.

        The CLI itself creates the file only with the first whole answer, so a turn that is killed before it could not
        be resumed (U8).
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        session = str(uuid.uuid4())
        header = {"type": "session", "version": _VERSION, "id": session, "timestamp": now, "cwd": os.path.realpath(cwd)}
        self.sessions.mkdir(exist_ok=True, mode=0o700)
        name = f"{now.replace(':', '-').replace('.', '-')}_{session}.jsonl"
        write_new(self.sessions / name, msgspec.json.encode(header) + b"\n")
        return session

    def move(self, session: str, cwd: str) -> None:
        """Write another working directory into a session: the CLI works in the directory of the session's first line.

        Raise `TurnError` if the first line cannot be read.
        """
        for path in self._files(session):
            first, end, rest = path.read_bytes().partition(b"\n")
            try:
                header: Any = msgspec.json.decode(first)
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                header = None
            if not isinstance(header, dict):
                raise TurnError("The first line of the session's file is damaged. Begin a new conversation.")
            if header.get("cwd") != os.path.realpath(cwd):
                write_whole(path, msgspec.json.encode({**header, "cwd": os.path.realpath(cwd)}) + end + rest)

    def _files(self, session: str) -> Iterator[Path]:
        return self.sessions.glob(f"*_{session}.jsonl")
