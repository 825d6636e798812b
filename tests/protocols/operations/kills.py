"""Kill the runtime of operations at random instants: `python -m tests.protocols.operations.kills`.

After any kill, each operation has one event, which never changes. No command runs twice. The files match the events,
and no process survives. The exit status is 1 if a round violates this.
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
