"""Define the ways to end a run, each with its expected result; a new way is a new line here.

A step is a process (`adapter`, `guard`, `inner`, `agent`, `node`) and the signal that it receives. The steps follow
each other without a pause. `finish` lets the run complete, and `leave` closes the adapter's stdout. `inner` is the
guard that is process 1 of a namespace, if one exists.
"""

from __future__ import annotations

from dataclasses import dataclass

from .limits import ENDS, GUARD_KILLED, GUARD_STOPPED, KILLED, TOGETHER

__all__ = ["SCENARIOS", "Scenario"]


@dataclass(frozen=True)
class Scenario:
    """One way to end a run.

    `row` is what happens in the words of rule N1's table, `statuses` are the adapter's exit statuses that may come of
    it. `early` counts the instant from the adapter's start, when there may be neither guard nor agent; `unread` leaves
    the adapter's stdout unread while the agent says more than every pipe holds; `timeout` gives the run one; `schema`
    an output schema, which is a temporary file; `node` starts the agent by its npm launcher; `survivable` is what the
    agent may live through when it comes early: the run then ends by itself; `library` ends the run from inside a
    program that uses the library, upon SIGUSR1.
    """

    steps: str
    row: str
    statuses: frozenset[int]
    early: bool = False
    unread: bool = False
    timeout: bool = False
    schema: bool = False
    node: bool = False
    survivable: bool = False
    library: str = ""
    smoke: bool = False

    @property
    def name(self) -> str:
        """Its steps and its particulars in one word, for command lines."""
        extras = [extra for extra in ("early", "unread", "timeout", "schema", "node") if getattr(self, extra)]
        return "+".join([*extras, *([f"library-{self.library}"] if self.library else self._words())])

    def _words(self) -> list[str]:
        return [step.replace(" ", "-") for step in self.steps.split(", ") if step]

    @property
    def actors(self) -> set[str]:
        """Who gets a signal."""
        return {step.partition(" ")[0] for step in self.steps.split(", ")}


def _way(steps: str, row: str, *statuses: int, **particulars: bool | str) -> Scenario:
    return Scenario(steps, row, frozenset(statuses), **particulars)  # type: ignore[arg-type]


KILL = -9
LOST = 125
"""The adapter's status when the guard was lost."""

SCENARIOS = (
    # the adapter
    _way("adapter TERM", ENDS, 143, smoke=True),
    _way("adapter INT", ENDS, 130),
    _way("adapter HUP", ENDS, 129),
    _way("adapter KILL", KILLED, KILL, smoke=True),
    _way("adapter STOP, adapter KILL", KILLED, KILL),
    _way("adapter STOP, adapter CONT, finish", ENDS, 0),
    _way("adapter TERM, adapter INT", ENDS, 130, 143),
    _way("adapter TERM, adapter KILL", KILLED, KILL),
    _way("adapter STOP, agent KILL, adapter CONT", ENDS, 137),
    _way("adapter STOP, agent KILL, adapter KILL", KILLED, KILL),
    # the guard
    _way("guard TERM, finish", ENDS, 0),
    _way("guard INT, guard HUP, finish", ENDS, 0),
    _way("guard KILL", GUARD_KILLED, LOST, smoke=True),
    _way("guard STOP, guard KILL", GUARD_KILLED, LOST),
    _way("guard STOP, guard CONT, finish", ENDS, 0),
    _way("guard STOP, adapter TERM", ENDS, 143),
    _way("guard STOP, adapter KILL", GUARD_STOPPED, KILL),
    _way("guard STOP, agent KILL", ENDS, LOST, 137),
    _way("inner KILL", GUARD_KILLED, LOST),
    _way("inner STOP, adapter TERM", ENDS, 143),
    _way("inner STOP, adapter KILL", GUARD_STOPPED, KILL),
    _way("adapter STOP, guard KILL, adapter KILL", TOGETHER, KILL),
    _way("guard KILL, adapter KILL", TOGETHER, KILL),
    # the agent
    _way("agent TERM", ENDS, 143),
    _way("agent INT", ENDS, 0, 1, 130, survivable=True),
    _way("agent HUP", ENDS, 129),
    _way("agent KILL", ENDS, 137),
    _way("agent STOP, agent KILL", ENDS, 137),
    _way("agent STOP, adapter TERM", ENDS, 143),
    _way("agent STOP, adapter KILL", KILLED, KILL, smoke=True),
    _way("agent KILL, adapter KILL", KILLED, KILL),
    # everything else
    _way("adapter KILL", KILLED, KILL, early=True),
    _way("adapter TERM", ENDS, -15, 143, early=True),
    _way("", ENDS, 124, timeout=True),
    _way("finish", ENDS, 0, smoke=True),
    _way("leave, finish", ENDS, 0),
    _way("adapter KILL", KILLED, KILL, unread=True),
    _way("adapter TERM, adapter KILL", KILLED, KILL, unread=True),
    _way("agent KILL, adapter KILL", KILLED, KILL, unread=True),
    _way("adapter KILL", KILLED, KILL, schema=True),
    _way("guard KILL", GUARD_KILLED, LOST, schema=True),
    _way("adapter KILL", KILLED, KILL, node=True),
    _way("adapter TERM", ENDS, 143, node=True),
    _way("node KILL", ENDS, 137, node=True),
    _way("adapter USR1", ENDS, 0, library="raise"),
    _way("adapter USR1", ENDS, 0, library="cancel"),
    _way("adapter USR1", ENDS, 0, library="kill"),
    _way("adapter USR1", ENDS, 0, library="scope"),
)
