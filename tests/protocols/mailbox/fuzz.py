"""Parse a million random answers: `python -m tests.protocols.mailbox.fuzz`.

For each answer, the parser must agree with the reference parser, and the result must be sound. The exit status is 1 if
an answer violates this.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from random import Random, SystemRandom

from codex_adapter.protocols.mailbox.answer_parser import parse_answer
from codex_adapter.protocols.mailbox.messages import AnswerItem, Malformed

from .answers_text import odd_answer
from .reference_answer_parser import reference
from .soundness import unsound

__all__ = ["finding", "play"]

_AT_A_TIME = 2000
_MOST_SHOWN = 5


def main() -> int:
    """Play as many inputs as the arguments say, and print the sums."""
    parser = argparse.ArgumentParser(prog="python -m tests.protocols.mailbox.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="how many (default: a million)")
    parser.add_argument("--seed", type=int, help="of the first ones (default: a random one)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    options = parser.parse_args()
    seed = SystemRandom().randrange(10**9) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    sums: Counter[str] = Counter()
    counts = [min(_AT_A_TIME, options.inputs - done) for done in range(0, options.inputs, _AT_A_TIME)]
    with ProcessPoolExecutor(options.jobs) as pool:
        for number, (counted, found) in enumerate(pool.map(play, range(seed, seed + len(counts)), counts)):
            sums.update(counted)
            for told in found[:_MOST_SHOWN]:
                print(f"--seed {seed + number} --inputs {counts[number]}: {told}", flush=True)
    told = ", ".join(f"{name} {sums[name]}" for name in ("inputs", "commands", "malformed", "disagreements"))
    print(f"{told}; {time.monotonic() - started:.0f} s")
    return 1 if sums["disagreements"] else 0


def play(seed: int, inputs: int) -> tuple[Counter[str], list[str]]:
    """The sums of so many inputs, and what was wrong."""
    random = Random(seed)
    sums: Counter[str] = Counter()
    found = []
    for _ in range(inputs):
        data = odd_answer(random)
        asked = parse_answer(data)
        broken = sum(isinstance(it, Malformed) for it in asked)
        wrong = finding(data, asked)
        sums.update(inputs=1, commands=len(asked) - broken, malformed=broken, disagreements=bool(wrong))
        if wrong:
            found.append(f"{data!r}: {wrong}")
    return sums, found


def finding(data: bytes, asked: Iterable[AnswerItem]) -> str:
    """What is wrong with a reading of an answer, or nothing."""
    asked = tuple(asked)
    expected = reference(data)
    without_texts = [
        Malformed(name=it.name, line=it.line, error="") if isinstance(it, Malformed) else it for it in asked
    ]
    if without_texts != expected:
        return f"read as {without_texts}, by the rules it is {expected}"
    return unsound(data, asked)


if __name__ == "__main__":
    sys.exit(main())
