"""Check that the agent and its login are outside a workspace that commands can change (H14, H15)."""

from __future__ import annotations

import argparse
import os

from codex_adapter import SpawnError
from codex_adapter.agent import Agent
from codex_adapter.agent_places import AgentPlaces
from codex_adapter.agents import known_places
from codex_adapter.cli.agent_options import program_config
from codex_adapter.cli.errors import UsageError
from codex_adapter.workspace import is_replaceable, isolate_environment

__all__ = ["agent_homes", "agent_places", "require_outside"]


def agent_places(options: argparse.Namespace, agent: Agent) -> tuple[AgentPlaces, ...]:
    """Return the places of all agents, with the program that options name for this one (H13, H14, H15)."""
    return known_places(agent.kind, program_config(options, agent).binary)


def agent_homes(options: argparse.Namespace, agent: Agent) -> list[str]:
    """Return the directories that options name for the login of the agent (H14)."""
    homes: list[str | None] = []
    for option in agent.options:
        if option.place == "home":
            values = (entry.partition("=") for entry in options.env or ())
            homes += [
                getattr(options, option.attribute),
                *(home for name, _, home in values if name == option.variable),
            ]
    return [os.path.realpath(home) for home in homes if home]


def require_outside(options: argparse.Namespace, agent: Agent, workspace: str) -> None:
    """Raise `UsageError` if commands in the workspace could replace the agent, which runs outside (H15)."""
    try:
        program = agent.find_program(program_config(options, agent), isolate_environment(os.environ, workspace))
    except SpawnError:
        # The run reports it.
        return
    if is_replaceable(program, workspace):
        [name] = [option.name for option in agent.options if option.place == "program"]
        raise UsageError(
            f"{name}: {agent.name} is in the workspace, where commands can replace it. "
            "Use a program outside the workspace"
        )
