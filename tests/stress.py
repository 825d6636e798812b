"""Run the tests again and again beside busy loops, and list each case that ever failed.

python -m tests.stress [--rounds N] [--loops N] [ARGUMENTS OF PYTEST]
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator

from .gate import failures_of

__all__ = ["main"]


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Keep so many processors busy."""
    loops = [subprocess.Popen([sys.executable, "-ISc", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> int:
    """Return 1 if any case failed in any round."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--loops", type=int, default=4)
    given, arguments = parser.parse_known_args()
    ever: Counter[str] = Counter()
    with busy_loops(given.loops):
        for number in range(given.rounds):
            with tempfile.TemporaryDirectory() as cache:
                status, failed = failures_of(["-q", *arguments], cache)
            ever.update(failed)
            print(f"round {number + 1} of {given.rounds}: status {status}, {len(failed)} failed", flush=True)
            if status not in (0, 1):
                return status
    for name, count in ever.most_common():
        print(f"failed {count} times: {name}")
    print(f"{len(ever)} cases ever failed in {given.rounds} rounds beside {given.loops} busy loops")
    return int(bool(ever))


if __name__ == "__main__":
    sys.exit(main())
