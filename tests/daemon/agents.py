"""Define the scripts of the agents in the tests of the daemon."""

from __future__ import annotations

from typing import Final

from codex_adapter.testing import Hang, IgnoreSignals, PrintJson, ReadPrompt, Repeat, StartDescendant, Step, WaitFor
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    thread_started,
    turn_completed,
    turn_started,
)

__all__ = ["BRIEF", "HANGING", "HELD", "PARENT", "STUBBORN", "flood", "messages"]

_BEGUN: Final[tuple[Step, ...]] = (ReadPrompt(), PrintJson(thread_started()))

BRIEF: Final[tuple[Step, ...]] = (
    *_BEGUN,
    PrintJson(turn_started()),
    PrintJson(command_started("item_0", "make")),
    PrintJson(command_completed("item_0", "make", "no rule\n", exit_code=2)),
    PrintJson(agent_message("item_1", "Fixed: “ü”, \u2028 and \x85.")),
    PrintJson(turn_completed()),
)
"""A whole turn."""
HELD: Final[tuple[Step, ...]] = (*_BEGUN, WaitFor("go"), PrintJson(turn_completed()))
"""A turn that ends when there is a file `go`."""
HANGING: Final[tuple[Step, ...]] = (*_BEGUN, Hang())
"""A turn that never ends."""
PARENT: Final[tuple[Step, ...]] = (
    StartDescendant("child", session=True, daemon=True, ignore=("SIGINT", "SIGTERM", "SIGHUP")),
    *HANGING,
)
"""A turn that never ends, with a descendant that would rather stay."""
STUBBORN: Final[tuple[Step, ...]] = (IgnoreSignals(("SIGINT", "SIGTERM", "SIGHUP")), *_BEGUN, Hang())
"""A turn that nothing but a kill ends."""


def flood(size: int, count: int | None = None) -> Repeat:
    """Messages of about this size, as fast as they are read."""
    text = '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"%s"}}'
    return Repeat(text % ("x" * size), count=count)


def messages(count: int) -> tuple[Step, ...]:
    """A turn with so many messages, each an event."""
    return (*_BEGUN, *(PrintJson(agent_message(f"item_{n}", f"Message {n}.")) for n in range(count)))
