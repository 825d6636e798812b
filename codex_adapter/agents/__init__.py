"""Find agents by their kind: those of this package, and those of other distributions (AG5).

Another distribution adds an agent by an entry point of the group `codex_adapter.agents`, named by its kind, whose
object is an `Agent`.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Final

from codex_adapter.errors import InvalidAgentKindError, UnknownBackendError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from codex_adapter.agent import Agent
    from codex_adapter.agent_places import AgentPlaces

__all__ = ["GROUP", "agent_of", "kinds", "known_places"]

GROUP: Final = "codex_adapter.agents"
_OWN: Final = {"codex": "codex_adapter.agents.codex.agent"}
"""The agents of this package: kind and module, each with an `AGENT`."""


def kinds() -> list[str]:
    """Return the kinds of all agents that are installed, sorted."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to load, and few commands list agents

    return sorted({*_OWN, *entry_points(group=GROUP).names})


def agent_of(kind: str) -> Agent:
    """Return the agent of a kind; it is loaded when it is first asked for.

    Raises `UnknownBackendError` (G2), and `InvalidAgentKindError` for one that cannot be loaded, or is not an agent of
    this kind (AG5).
    """
    if kind in _OWN:
        agent: Agent = import_module(_OWN[kind]).AGENT
        return agent
    from importlib.metadata import entry_points  # noqa: PLC0415 - see above

    for point in entry_points(group=GROUP, name=kind):
        return _loaded(point)
    raise UnknownBackendError(f"no agent of this kind is installed; installed: {', '.join(kinds())}")


def _loaded(point: EntryPoint) -> Agent:
    from codex_adapter.agent import Agent  # noqa: PLC0415 - the seam, which a list of kinds does not need

    try:
        agent = point.load()
    except Exception as error:  # noqa: BLE001 - whatever the module of another distribution raises
        why = f"cannot be loaded ({type(error).__name__})"
    else:
        if isinstance(agent, Agent) and agent.kind == point.name and re.fullmatch("[a-z][a-z0-9_]*", point.name):
            return agent
        why = "is not an agent of this kind"
    brought = "a distribution" if point.dist is None else point.dist.name
    advice = f"repair {brought}, which has the entry point {point.value}, or uninstall it"
    raise InvalidAgentKindError(f"the agent {point.name!r} {why}; {advice}")


def known_places(chosen: str | None = None, program: str | None = None) -> tuple[AgentPlaces, ...]:
    """Return the places of all agents that are installed, whichever of them runs; a workspace guards them (AG7).

    The agent of the kind `chosen` has this `program`, the others those of their runs.
    """
    return tuple(agent_of(kind).places(program if kind == chosen else None) for kind in kinds())
