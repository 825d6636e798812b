"""Define the agents and MCP servers of the tests of turns over `serve`."""

from __future__ import annotations

import json
from typing import Any, Final

from codex_adapter.testing import Hang, IgnoreSignals, PrintJson, Repeat, StartDescendant, Step, WaitFor
from codex_adapter.testing.thread_lines import agent_message, command_completed, command_started, turn_completed

from .control_plane import BEGUN, GOOD, ControlPlane

__all__ = ["ENDLESS", "FLOOD", "HANGING", "HELD", "TOOL", "served"]

STOPPING: Final = ("SIGINT", "SIGTERM", "SIGHUP")
SAYING: Final[tuple[Step, ...]] = (*BEGUN, PrintJson(agent_message("item_0", "Begun.")))
TOOL: Final[tuple[Step, ...]] = (
    *BEGUN,
    PrintJson(command_started("item_0", "make")),
    PrintJson(command_completed("item_0", "make", "no rule\n", exit_code=2)),
    *GOOD[len(BEGUN) :],
)
"""A turn with a command."""
HELD: Final[tuple[Step, ...]] = (
    *SAYING,
    WaitFor("go"),
    PrintJson(agent_message("item_1", "Held.")),
    PrintJson(turn_completed()),
)
"""A turn that ends when there is a file `go`."""
HANGING: Final[tuple[Step, ...]] = (*SAYING, Hang())
"""A turn that never ends."""
FLOOD: Final[tuple[Step, ...]] = (*BEGUN, Repeat(json.dumps(agent_message("item_0", "x" * 1000))))
"""A turn that never ends, and says much."""
ENDLESS: Final = {
    "hanging": HANGING,
    "parent": (StartDescendant("child", session=True, daemon=True, ignore=STOPPING), *HANGING),
    "stubborn": (IgnoreSignals(STOPPING), *HANGING),
    "flood": FLOOD,
}
"""Turns that never end, by what is hard about their end."""


def served(plane: ControlPlane, **servers: dict[str, Any]) -> dict[str, Any]:
    """What `turns/describe` takes for a new space with these MCP servers."""
    name = "-".join(servers)
    directory = plane.home / "registry" / name / "dev" / "mcp"
    directory.mkdir(parents=True)
    (directory.parent / "space.toml").write_text(f'schema = 1\nid = "{name}"\n')
    (directory / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return {"aspHome": str(plane.home), "spec": {"spaces": [f"space:{name}"]}}
