"""`python -m tests.protocols.operations.kills`: the runtime of operations is killed at random instants, over and over.

Whenever that is: each operation has one event, which never changes; no command runs twice; the files are what the
events say; nothing lives on. Exit status 1 when that was not so in some round.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..rounds import Failure, command, summed
from .kills_round import Result, Round, play

__all__ = ["summary"]


def main() -> int:
    """Play the rounds and print their sums."""
    return command("tests.protocols.operations.kills", __doc__, Round.of, play, summary, rounds=200)


def summary(results: Sequence[Result | Failure]) -> str:
    """The sums, on one line."""
    return summed(results, Result)


if __name__ == "__main__":
    sys.exit(main())
