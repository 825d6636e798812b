"""Get decisions on an agent's pending operations from a person, or from lines of a supervisor (O16)."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

from codex_adapter import LineFramer, OversizeLine
from codex_adapter.protocols.operations.executor import PendingApproval
from codex_adapter.protocols.operations.messages import Approval, InvalidMessageError, UserMessage, read_message
from codex_adapter.protocols.operations.serve import Decide

__all__ = ["MAX_DECISION_BYTES", "DecisionInput", "DecisionLines", "Decisions", "PersonDecisions"]

MAX_DECISION_BYTES: Final = 65_536
_MOST_AHEAD: Final = 256

DecisionInput: TypeAlias = Approval | bytes | bytearray | OversizeLine
"""A decision, or a line that should contain one."""


class Decisions(Protocol):
    """A source of decisions."""

    async def next(self, pending: PendingApproval) -> DecisionInput | None:
        """Return the decision on a pending operation; None after the last decision."""

    def catch_up(self) -> int:
        """Drop the user messages that have arrived, and return their number.

        They do not name an operation, so they cannot be decisions on the next one.
        """


class PersonDecisions:
    """Ask a person about each operation."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide

    async def next(self, pending: PendingApproval) -> DecisionInput | None:
        """Ask the person, and return the decision; see `Decisions.next`."""
        return await self._decide(pending)

    def catch_up(self) -> int:
        """Return 0: the question to the person drops earlier input itself."""
        return 0


class DecisionLines:
    """Read decisions as JSON, one a line.

    `receive_some` waits for the next bytes, and returns empty bytes at the end. `receive_now` does not wait, and
    returns None if no bytes have arrived.
    """

    def __init__(
        self, receive_some: Callable[[], Awaitable[bytes]], receive_now: Callable[[], bytes | None] = lambda: None
    ) -> None:
        self._receive_some = receive_some
        self._receive_now = receive_now
        self._framer = LineFramer(MAX_DECISION_BYTES)
        self._lines: deque[bytes | bytearray | OversizeLine] = deque()
        self._at_end = False

    async def next(self, pending: PendingApproval) -> DecisionInput | None:
        """Return the next line; see `Decisions.next`. A cancellation loses no line."""
        while not self._lines and not self._at_end:
            self._receive(await self._receive_some())
        return self._lines.popleft() if self._lines else None

    def catch_up(self) -> int:
        """Drop early user messages; see `Decisions.catch_up`. A decision that names its operation stays."""
        while not self._at_end and len(self._lines) < _MOST_AHEAD and (data := self._receive_now()) is not None:
            self._receive(data)
        ahead = [line for line in self._lines if not _is_user_message(line)]
        dropped = len(self._lines) - len(ahead)
        self._lines = deque(ahead)
        return dropped

    def _receive(self, data: bytes) -> None:
        lines = self._framer.receive_data(data) if data else self._framer.receive_eof()
        self._at_end = not data
        self._lines.extend(line for line in lines if isinstance(line, OversizeLine) or not line.isspace())


def _is_user_message(line: bytes | bytearray | OversizeLine) -> bool:
    try:
        return not isinstance(line, OversizeLine) and isinstance(read_message(line), UserMessage)
    except InvalidMessageError:
        return False
