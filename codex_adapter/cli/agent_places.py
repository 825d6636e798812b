"""Check where the agent and its login are, beside a workspace that commands can change (H14, H15)."""

from __future__ import annotations

import argparse
import os

from codex_adapter import SpawnError
from codex_adapter.agent_places import AgentPlaces
from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.places import codex_places
from codex_adapter.cli.agent_options import read_config
from codex_adapter.cli.errors import UsageError
from codex_adapter.workspace import is_replaceable, outside_environment

__all__ = ["agent_homes", "agent_places", "require_outside"]


def agent_places(options: argparse.Namespace) -> tuple[AgentPlaces, ...]:
    """Return the places of all agents, with the bubblewrap of the CLI that options name (H13, H14, H15)."""
    return (codex_places(options.codex),)


def agent_homes(options: argparse.Namespace) -> list[str]:
    """Return the directories in which options say that the login of the agent is (H14)."""
    named = [entry.partition("=")[2] for entry in options.env or () if entry.startswith("CODEX_HOME=")]
    return [os.path.realpath(home) for home in (options.codex_home, *named) if home]


def require_outside(options: argparse.Namespace, workspace: str) -> None:
    """Raise `UsageError` where commands in the workspace could replace the Codex CLI, which runs outside (H15)."""
    try:
        binary = find_binary(read_config(options), outside_environment(os.environ, workspace))
    except SpawnError:
        # The run says so itself.
        return
    if is_replaceable(binary.path, workspace):
        raise UsageError("--codex: the Codex CLI is in the workspace, where commands can replace it; name another one")
