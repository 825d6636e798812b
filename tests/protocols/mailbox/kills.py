"""`python -m tests.protocols.mailbox.kills`: whoever works in a mailbox is killed at random instants, over and over.

Whenever that is: each command of each answer has one result, which never changes; no command runs twice; files and
outboxes are what the results say; nothing lives on. Exit status 1 when that was not so in some round.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..rounds import Failure, command
from .kills_round import Result, Round, play

__all__ = ["summary"]


def main() -> int:
    """Play the rounds and print their sums."""
    return command("tests.protocols.mailbox.kills", __doc__, Round.of, play, summary, rounds=180)


def summary(results: Sequence[Result | Failure]) -> str:
    """The sums, on one line."""
    good = [result for result in results if isinstance(result, Result)]
    sums = {name: sum(getattr(it, name) for it in good) for name in Result._fields if name != "round"}
    told = ", ".join(f"{name} {number}" for name, number in sums.items())
    return f"rounds {len(results)}, failed {len(results) - len(good)}, {told}"


if __name__ == "__main__":
    sys.exit(main())
