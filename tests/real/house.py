"""Provide a space with instructions and a skill, and a program that runs one turn."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from codex_adapter.protocols.turns import SpaceSpec

__all__ = ["TURN_PROGRAM", "write_house"]

TURN_PROGRAM: Final = """
import sys
import msgspec, trio
from codex_adapter import CodexConfig
from codex_adapter.agents.codex.harness import CodexHarness
from codex_adapter.protocols.turns import RunTurnRequest, SessionCallbacks, create_agent_spaces_client

binary, home, request = sys.argv[1:]

def show(event):
    print(msgspec.json.encode(event).decode(), flush=True)

client = create_agent_spaces_client([CodexHarness(CodexConfig(binary=binary, codex_home=home))])
trio.run(client.run_turn, msgspec.json.decode(request, type=RunTurnRequest), SessionCallbacks(show))
"""
"""A turn in a process of its own, its events on standard output."""


def write_house(home: Path) -> SpaceSpec:
    """The space, in the registry of an `aspHome`, and how it is asked for."""
    directory = home / "registry" / "house" / "1.0.0"
    (directory / "skills" / "greeting").mkdir(parents=True)
    (directory / "skills" / "greeting" / "SKILL.md").write_text("---\ndescription: How one greets.\n---\nSay ahoy.\n")
    (directory / "space.toml").write_text('schema = 1\nid = "house"\nversion = "1.0.0"\n')
    (directory / "AGENTS.md").write_text("Be brief, says the house.\n")
    return SpaceSpec(spaces=("space:house@^1",))
