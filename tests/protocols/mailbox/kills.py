"""`python -m tests.protocols.mailbox.kills`: whoever works in a mailbox is killed at random instants, over and over.

Whenever that is: each command of each answer has one result, which never changes; no command runs twice; files and
outboxes are what the results say; nothing lives on. Exit status 1 when that was not so in some round.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..rounds import Failure, command, summed
from .kills_round import Result, RoundJournal, play

__all__ = ["summary"]


def main() -> int:
    """Play the rounds and print their sums."""
    return command("tests.protocols.mailbox.kills", __doc__, RoundJournal.of, play, summary, rounds=180)


def summary(results: Sequence[Result | Failure]) -> str:
    """The sums, on one line."""
    return summed(results, Result)


if __name__ == "__main__":
    sys.exit(main())
