"""Kill the turns of a conversation with a real CLI at random instants.

Usage: `python -m tests.real.turn_kills [codex|claude|pi]`.

The kill hits the process that runs the turn, the agent, or both. Afterwards no process survives, the agent remembers
its earlier answers, and the reported key continues the conversation. There is one exception: a conversation of which
the agent had not stored anything starts again. The exit status is 1 if a round violates this.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from codex_adapter.testing import Scenario, Shell, answer, script

from ..protocols.rounds import Failure, command, summed
from .claude_stage import ClaudeStage, claude_for_turns
from .house import write_house
from .mortal_talk import Instant, MortalTalk, check
from .pi_stage import PiStage, pi_for_turns
from .releases import installed
from .stage import Stage

__all__ = ["Result", "Round", "main", "play", "play_claude", "play_pi", "summary"]

MOST_ANSWERS: Final = 100


class Round(NamedTuple):
    """One conversation: the instants at which its turns are killed. One more turn is spared."""

    seed: int
    instants: tuple[Instant, ...]

    @classmethod
    def of(cls, seed: int) -> Round:
        """The round of a seed."""
        random = Random(seed)
        return cls(seed, tuple(_instant(random) for _ in range(random.randint(2, 5))))


class Result(NamedTuple):
    """How many turns were killed, how many of them had told a key by then, how many turns had come to a good end, and
    how many conversations had to begin anew."""

    round: Round
    killed: int
    keyed: int
    ended: int
    anew: int


def play(round_: Round, directory: Path) -> Result:
    """Play a round with Codex in a directory. Raises `Broken`, and AssertionError."""
    return play_on(Stage(installed()[0], directory), round_)


def play_claude(round_: Round, directory: Path) -> Result:
    """Play a round with Claude Code in a directory. Raises `Broken`, and AssertionError."""
    return play_on(ClaudeStage(claude_for_turns()[0], directory), round_)


def play_pi(round_: Round, directory: Path) -> Result:
    """Play a round with pi in a directory. Raises `Broken`, and AssertionError."""
    return play_on(PiStage(pi_for_turns()[0], directory), round_)


def play_on(stage: Stage, round_: Round) -> Result:
    """Play a round on a stage. Raises `Broken`, and AssertionError."""
    write_house(stage)
    try:
        with stage.model(_scenario()) as model:
            login = _tree(stage.home)
            talk = MortalTalk(stage)
            told = [talk.turn(instant) for instant in (*round_.instants, None)]
            last = stage.sent(model.requests[-1])
        check(told[-1].final is not None, f"the turn that was spared: {told[-1].events[-1:]}")
        for turn in told[:-1]:
            check(turn.final is None or turn.final in last, f"forgotten: {turn.final}")
        check(_tree(stage.home) == login, "the user's own home is not what it was")
        _look_at_state(stage)
    finally:
        stage.oracle.kill()
    killed = [turn for turn in told if turn.killed]
    keyed, ended = sum(turn.key is not None for turn in killed), sum(turn.final is not None for turn in told)
    return Result(round_, len(killed), keyed, ended, talk.begun_anew)


def _instant(random: Random) -> Instant:
    event = random.choice((0, 1, 2, 3, 3, 4, 5, 6, 7))
    seconds = 10 ** random.uniform(-3, -0.5) if event else random.uniform(0.2, 1.0)
    return Instant(event, seconds, random.choice(("process", "process", "agent", "both")))


def _scenario() -> Scenario:
    """A command and then words, over and over, each told from the others."""
    steps = [
        step
        for number in range(MOST_ANSWERS)
        for step in (answer(Shell(f"echo {number}"), delay=0.05), answer(f"Answer {number:03}.", delay=0.05))
    ]
    return script(*steps)


def _look_at_state(stage: Stage) -> None:
    """Each record of a conversation is whole, and has its directory; each lock is whole."""
    state = stage.root / "asp" / "state"
    for record in (state / "sessions").glob("*.json"):
        check((state / "sessions" / json.loads(record.read_bytes())["directory"]).is_dir(), "a record without its home")
    for lock in (state / "locks").glob("*.json"):
        json.loads(lock.read_bytes())


def _tree(root: Path) -> dict[str, tuple[int, int]]:
    """All files with size and time of change."""
    return {
        str(path.relative_to(root)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


def summary(results: Sequence[Result | Failure]) -> str:
    """The sums, on one line."""
    return summed(results, Result)


def main() -> int:
    """Play the rounds and print their sums."""
    players = {"codex": play, "claude": play_claude, "pi": play_pi}
    name = sys.argv.pop(1) if sys.argv[1:2] and sys.argv[1] in players else "codex"
    return command("tests.real.turn_kills", __doc__, Round.of, players[name], summary, rounds=100)


if __name__ == "__main__":
    sys.exit(main())
