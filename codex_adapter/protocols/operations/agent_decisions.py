"""Who decides while an agent's operation waits: a person who is asked, or lines from whoever supervises (O16)."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

from codex_adapter import LineFramer, OversizeLine
from codex_adapter.protocols.operations.executor import Waiting
from codex_adapter.protocols.operations.messages import InvalidMessageError, read_message
from codex_adapter.protocols.operations.protocol import Approval, UserMessage
from codex_adapter.protocols.operations.serve import Decide

__all__ = ["MAX_DECISION_BYTES", "AskedPerson", "DecisionLines", "Decisions", "Given"]

MAX_DECISION_BYTES: Final = 65_536
_MOST_AHEAD: Final = 256

Given: TypeAlias = Approval | bytes | bytearray | OversizeLine
"""A decision, or a line that should have one."""


class Decisions(Protocol):
    """Where decisions come from."""

    async def next(self, waiting: Waiting) -> Given | None:
        """What is said about an operation that waits; None when nobody will say anything."""

    def catch_up(self) -> int:
        """Drop plain words that have come already, and tell how many: nobody can have meant what comes to wait now."""


class AskedPerson:
    """A person who is asked about each operation."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide

    async def next(self, waiting: Waiting) -> Given | None:
        """As `Decisions.next`."""
        return await self._decide(waiting)

    def catch_up(self) -> int:
        """As `Decisions.catch_up`; whoever asks sees to it."""
        return 0


class DecisionLines:
    """Decisions as JSON, one a line. `receive_some` waits for the next bytes, and gives none at their end;
    `receive_now` does not wait, and gives None where there are none yet."""

    def __init__(
        self, receive_some: Callable[[], Awaitable[bytes]], receive_now: Callable[[], bytes | None] = lambda: None
    ) -> None:
        self._receive_some = receive_some
        self._receive_now = receive_now
        self._framer = LineFramer(MAX_DECISION_BYTES)
        self._lines: deque[bytes | bytearray | OversizeLine] = deque()
        self._at_end = False

    async def next(self, waiting: Waiting) -> Given | None:
        """As `Decisions.next`; a cancellation loses nothing."""
        while not self._lines and not self._at_end:
            self._receive(await self._receive_some())
        return self._lines.popleft() if self._lines else None

    def catch_up(self) -> int:
        """As `Decisions.catch_up`; a decision that names its operation may come ahead of it."""
        while not self._at_end and len(self._lines) < _MOST_AHEAD and (data := self._receive_now()) is not None:
            self._receive(data)
        ahead = [line for line in self._lines if not _is_words(line)]
        dropped = len(self._lines) - len(ahead)
        self._lines = deque(ahead)
        return dropped

    def _receive(self, data: bytes) -> None:
        lines = self._framer.receive_data(data) if data else self._framer.receive_eof()
        self._at_end = not data
        self._lines.extend(line for line in lines if isinstance(line, OversizeLine) or not line.isspace())


def _is_words(line: bytes | bytearray | OversizeLine) -> bool:
    try:
        return not isinstance(line, OversizeLine) and isinstance(read_message(line), UserMessage)
    except InvalidMessageError:
        return False
