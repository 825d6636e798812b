"""Provide a space with instructions and a skill, and a program that runs one turn of any harness."""

from __future__ import annotations

import sys
from typing import Final

import msgspec

from codex_adapter.protocols.turns import RunTurnRequest, SpaceSpec

from .stage import Stage

__all__ = ["settings", "turn_program", "write_house"]

_TURN_PROGRAM: Final = """
import sys
import msgspec, trio
from codex_adapter.agents import agent_of
from codex_adapter.protocols.turns import RunTurnRequest, SessionCallbacks, create_agent_spaces_client

kind, config, request = sys.argv[1:]
agent = agent_of(kind)

def show(event):
    print(msgspec.json.encode(event).decode(), flush=True)

client = create_agent_spaces_client([agent.harness(agent.config_type(**msgspec.json.decode(config)))])
trio.run(client.run_turn, msgspec.json.decode(request, type=RunTurnRequest), SessionCallbacks(show))
"""
"""A turn in a process of its own, its events on standard output."""


def turn_program(stage: Stage, request: RunTurnRequest) -> list[str]:
    """The command line of a process that runs one turn and writes its events to standard output."""
    words = [stage.agent, *(msgspec.json.encode(part).decode() for part in (stage.config_fields, request))]
    return [sys.executable, "-c", _TURN_PROGRAM, *words]


def settings(stage: Stage) -> str:
    """The settings of a space whose agent runs commands."""
    return "" if stage.permissions is None else f'settings.permissions = "{stage.permissions}"\n'


def write_house(stage: Stage) -> SpaceSpec:
    """The space, in the registry of an `aspHome`, and how it is asked for."""
    directory = stage.root / "asp" / "registry" / "house" / "1.0.0"
    (directory / "skills" / "greeting").mkdir(parents=True)
    (directory / "skills" / "greeting" / "SKILL.md").write_text("---\ndescription: How one greets.\n---\nSay ahoy.\n")
    (directory / "space.toml").write_text('schema = 1\nid = "house"\nversion = "1.0.0"\n' + settings(stage))
    (directory / "AGENTS.md").write_text("Be brief, says the house.\n")
    return SpaceSpec(spaces=("space:house@^1",))
