"""Find agents by their kind, in this package and in other distributions (AG5).

Another distribution adds an agent with an entry point of the group `codex_adapter.agents`. The entry point has the name
of the agent's kind and loads an `Agent`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final

from codex_adapter.errors import InvalidAgentKindError, UnknownBackendError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from codex_adapter.agent import Agent
    from codex_adapter.agent_places import AgentPlaces

__all__ = ["GROUP", "agent_of", "agent_of_harness", "harness_ids", "kinds", "known_places"]

GROUP: Final = "codex_adapter.agents"
_OWN: Final = {"claude_code": "codex_adapter.agents.claude.agent", "codex": "codex_adapter.agents.codex.agent"}
"""The module of each agent of this package, by kind; each module has an `AGENT`."""


def kinds() -> list[str]:
    """Return the kinds of all agents that are installed, sorted."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to load, and few commands list agents

    return sorted({*_OWN, *entry_points(group=GROUP).names})


def agent_of(kind: str) -> Agent:
    """Load and return the agent of a kind.

    Raise `UnknownBackendError` if no agent of this kind is installed. Raise `InvalidAgentKindError` if it cannot be
    loaded, or is not an agent of this kind. (G2, AG5)
    """
    if kind in _OWN:
        agent: Agent = import_module(_OWN[kind]).AGENT
        return agent
    from importlib.metadata import entry_points  # noqa: PLC0415 - see above

    for point in entry_points(group=GROUP, name=kind):
        return _loaded(point)
    raise UnknownBackendError(f"no agent of this kind is installed; the installed kinds are {', '.join(kinds())}")


def harness_ids() -> list[str]:
    """Return the ids of the harnesses of all installed agents, sorted. Skip agents that cannot be loaded (U5)."""
    return sorted(_harnesses())


def agent_of_harness(harness_id: str) -> Agent:
    """Return the agent that has this harness. Raise `UnknownBackendError` if no agent has it (U5)."""
    harnesses = _harnesses()
    if harness_id not in harnesses:
        raise UnknownBackendError(f"the harness does not exist. Existing harnesses: {', '.join(sorted(harnesses))}")
    return harnesses[harness_id]


def _harnesses() -> dict[str, Agent]:
    found: dict[str, Agent] = {}
    for kind in kinds():
        with suppress(InvalidAgentKindError):
            agent = agent_of(kind)
            if agent.harness_id is not None:
                found.setdefault(agent.harness_id, agent)
    return found


def _loaded(point: EntryPoint) -> Agent:
    from codex_adapter.agent import Agent  # noqa: PLC0415 - a list of kinds does not need it

    try:
        agent = point.load()
    except Exception as error:  # noqa: BLE001 - the module of another distribution may raise anything
        why = f"cannot be loaded ({type(error).__name__})"
    else:
        if isinstance(agent, Agent) and agent.kind == point.name and re.fullmatch("[a-z][a-z0-9_]*", point.name):
            return agent
        why = "is not an agent of this kind"
    distribution = "its distribution" if point.dist is None else point.dist.name
    advice = f"Repair or uninstall {distribution}: it has the entry point {point.value}"
    raise InvalidAgentKindError(f"The agent {point.name!r} {why}. {advice}")


def known_places(selected: str | None = None, program: str | None = None) -> tuple[AgentPlaces, ...]:
    """Return the places of all installed agents, which a workspace protects (AG7).

    `program` is the program of the agent of the kind `selected`. Each other agent uses the program of its runs.
    """
    return tuple(agent_of(kind).places(program if kind == selected else None) for kind in kinds())
