"""Simulate the death of a mailbox process at a given point, inside the process of the test."""

from __future__ import annotations

from pathlib import Path

import pytest
from typing_extensions import override

from codex_adapter.protocols.mailbox.events import AnswerAccepted, CommandFinished, MailboxEvent

from .bench import Bench, names_in

__all__ = ["CREATE", "DONE", "EDIT", "RUN", "UNKNOWN", "DeadError", "Mortal", "ran"]

CREATE = '[CREATE_FILE path="{}"]\n{}\n[/CREATE_FILE]\n'
EDIT = '[EDIT_FILE path="{}" start_line="1" end_line="1"]\n{}\n[/EDIT_FILE]\n'
RUN = "[RUN_COMMAND]\necho {} >> ledger\n[/RUN_COMMAND]\n"
DONE = "[DONE]\nAll.\n[/DONE]\n"
UNKNOWN = "was running when the adapter was killed. Its outcome is unknown, and it was not run again"


class DeadError(Exception):
    """Whoever worked is no more."""


class Mortal(Bench):
    """Dies after so many `moments`: those in which it is told of an answer or of a result."""

    moments = -1

    @override
    async def observe(self, happening: MailboxEvent) -> None:
        await super().observe(happening)
        self.moments -= isinstance(happening, AnswerAccepted | CommandFinished)
        if self.moments == 0:
            self.moments = -1
            raise DeadError

    async def die(self, moments: int, *answers: str) -> None:
        """Begin a session and die in its first round, after so many moments."""
        self.moments = moments
        with pytest.raises(DeadError):
            async with self.begin() as session:
                await self.answered(session, *answers)

    async def go_on(self) -> list[tuple[str, bool, str]]:
        """Bring the round to its end; all that came of it."""
        async with self.resume() as session:
            assert await session.has_accepted()
            assert await session.execute([])
            return [(it.command, it.success, it.summary) for it in session.state.last_results]

    @property
    def journal(self) -> Path:
        """Of the first round."""
        (path,) = self.places.root.glob("rounds/*_seq0001.jsonl")
        return path

    def kept(self, position: int) -> Path:
        """An answer of the first round."""
        (path,) = self.places.processed.glob(f"*_seq0001_{position:02d}_*")
        return path

    @property
    def ledger(self) -> list[str]:
        """What commands wrote."""
        return self.content("ledger").split() if "ledger" in names_in(self.root) else []


def ran(mark: str) -> tuple[str, bool, str]:
    """A command that came to a good end."""
    return ("RUN_COMMAND", True, f"Ran 'echo {mark} >> ledger' (exit code 0)")
