"""Kill the processes of mailboxes at random instants: `python -m tests.protocols.mailbox.kills`.

After any kill, each command of each answer has one result, which never changes. No command runs twice. Files and
outboxes match the results, and no process survives. The exit status is 1 if a round violates this.
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
