"""Kill supervisors, daemons, agents and guards at random instants: `python -m tests.daemon.kills`.

After each kill, the journal contains everything that the supervisor received, no journal is damaged, and no process
survives. The exit status is 1 if a round violates this.
"""

from __future__ import annotations

import signal
import sys
from collections import defaultdict
from collections.abc import Sequence

from ..protocols.rounds import Failure, command
from .kill_round import Result, Round, play

__all__ = ["summary"]


def main() -> int:
    """Play the rounds and print their table."""
    # Who starts this by `nohup`, or in the background of a script, makes it ignore signals, and so the daemon.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)
    return command("tests.daemon.kills", __doc__, Round.of, play, summary, rounds=300)


def summary(results: Sequence[Result | Failure]) -> str:
    """The table by the way in which something was ended, and its sums."""
    rows: dict[str, list[Result]] = defaultdict(list)
    failed: dict[str, int] = defaultdict(int)
    for result in results:
        row = rows[result.round.way.name]
        if isinstance(result, Failure):
            failed[result.round.way.name] += 1
        else:
            row.append(result)
    counted = "rounds failed missed    heard     kept  torn accepted"
    lines = [f"{'what is ended':48} {counted} gone after"]
    for name in [*sorted(rows), ""]:
        of_row = rows[name] if name else [result for row in list(rows.values()) for result in row]
        wrong = failed[name] if name else sum(failed.values())
        heard, kept, torn = (sum(getattr(it.kept, field) for it in of_row) for field in ("heard", "kept", "torn"))
        missed = sum(it.missed for it in of_row)
        accepted = sum(len(it.kept.accepted) for it in of_row)
        slowest = max((it.seconds for it in of_row), default=0.0)
        lines.append(
            f"{name or 'all':48} {len(of_row) + wrong:>6} {wrong:>6} {missed:>6}"
            f" {heard:>8} {kept:>8} {torn:>5} {accepted:>8} {slowest:>8.2f} s"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
