"""Define the ways to end the processes around a daemon, and the agents that run meanwhile."""

from __future__ import annotations

from typing import Final, NamedTuple

from codex_adapter.testing import Exit, IgnoreSignals, PrintJson, ReadPrompt, Repeat, StartDescendant, Step
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

from ..kill_matrix.limits import GUARD_KILLED, GUARD_STOPPED, KILLED, TOGETHER

__all__ = ["FINITE", "TEMPERS", "WAYS", "Way"]

_SAID: Final = '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"%s"}}'
_BEGUN: Final[tuple[Step, ...]] = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()))
_DEAF: Final = ("SIGINT", "SIGTERM", "SIGHUP")

TEMPERS: Final[dict[str, tuple[Step, ...]]] = {
    "brief": (*_BEGUN, PrintJson(agent_message("item_0", "Done: “ü”, \u2028.")), PrintJson(turn_completed())),
    "talkative": (*_BEGUN, Repeat(_SAID % ("talk " * 40), count=3000), PrintJson(turn_completed())),
    "failing": (*_BEGUN, Repeat(_SAID % "no", count=20), Exit(3)),
    "chatty": (*_BEGUN, Repeat(_SAID % ("x" * 300))),
    "long-winded": (*_BEGUN, Repeat(_SAID % ("y" * 100_000), per_second=40)),
    "slow": (*_BEGUN, Repeat(_SAID % "Well.", per_second=15)),
    "stubborn": (IgnoreSignals(_DEAF), *_BEGUN, Repeat(_SAID % "Never.", per_second=50)),
    "forking": (
        *_BEGUN,
        StartDescendant("child"),
        StartDescendant("stranger", session=True, ignore=_DEAF),
        StartDescendant("ghost", daemon=True, hold_stdout=True),
        Repeat(_SAID % "And more.", per_second=50),
    ),
}
"""What each kind of agent does, by its name."""
FINITE: Final = ("brief", "talkative", "failing")
"""Those that come to their end by themselves."""


class Way(NamedTuple):
    """Steps `WHO SIGNAL`, or `eof`: the daemon's stdin ends. `row` is that of rule N1, empty when none is needed."""

    steps: tuple[str, ...]
    row: str = ""
    drain: bool = False

    @property
    def name(self) -> str:
        """What it is called in the table."""
        return ", ".join(self.steps) + (" (drain)" if self.drain else "")

    @property
    def killed(self) -> bool:
        """Whether the daemon is killed."""
        return not {"daemon KILL", "all KILL"}.isdisjoint(self.steps)


WAYS: Final = (
    Way(("supervisor KILL",)),
    Way(("supervisor TERM",)),
    Way(("supervisor KILL",), drain=True),
    Way(("supervisor KILL", "agent KILL")),
    Way(("supervisor STOP", "supervisor KILL")),
    Way(("supervisor STOP", "supervisor CONT", "eof")),
    Way(("supervisor STOP", "daemon KILL", "supervisor CONT"), KILLED),
    Way(("supervisor KILL", "daemon KILL"), KILLED),
    Way(("daemon KILL",), KILLED),
    Way(("agent KILL", "daemon KILL"), KILLED),
    Way(("daemon KILL", "guard KILL"), TOGETHER),
    Way(("guard STOP", "daemon KILL"), GUARD_STOPPED),
    Way(("all KILL",), TOGETHER),
    Way(("daemon TERM",)),
    Way(("daemon HUP", "daemon TERM")),
    Way(("daemon STOP", "daemon CONT", "daemon TERM")),
    Way(("daemon STOP", "supervisor KILL", "daemon CONT")),
    Way(("daemon STOP", "daemon KILL"), KILLED),
    Way(("agent KILL", "eof")),
    Way(("agent STOP", "eof")),
    Way(("guard KILL", "eof"), GUARD_KILLED),
    Way(("guard STOP", "eof")),
    Way(("eof",)),
    Way(("eof",), drain=True),
)
