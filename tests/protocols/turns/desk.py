"""Provide an `aspHome` with a space, and a client with a scripted harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from codex_adapter.protocols.turns.client import AgentSpacesClient, create_agent_spaces_client
from codex_adapter.protocols.turns.messages import RunTurnRequest, SpaceSpec

from .event_rules import check_events, check_response
from .listener import Listener
from .scripted_harness import ScriptedHarness

__all__ = ["Desk"]


class Desk:
    """An `aspHome` with a space in it, and a client with a scripted harness."""

    def __init__(self, root: Path, *scripts: Any) -> None:
        self.home = root / "asp"
        self.root = root
        self.space("one", settings={"env": {"FROM": "space", "BOTH": "space"}})
        self.harness = ScriptedHarness(root, *scripts)
        self.client: AgentSpacesClient = create_agent_spaces_client([self.harness])
        (root / "work").mkdir()

    def space(self, id_: str, **more: Any) -> None:
        """A space of the registry."""
        directory = self.home / "registry" / id_ / "dev"
        directory.mkdir(parents=True)
        lines = ["schema = 1", f'id = "{id_}"']
        for table, values in more.items():
            for name, value in values.items():
                lines.append(f"{table}.{name} = {_toml(value)}")
        (directory / "space.toml").write_text("\n".join(lines) + "\n")

    def request(self, **changes: Any) -> RunTurnRequest:
        """A turn."""
        fields: dict[str, Any] = {
            "external_session_id": "conversation",
            "external_run_id": "run-1",
            "asp_home": str(self.home),
            "spec": SpaceSpec(spaces=("space:one",)),
            "harness": "scripted",
            "cwd": str(self.root / "work"),
            "prompt": "Do it.",
        }
        return RunTurnRequest(**fields | changes)

    async def turn(self, **changes: Any) -> tuple[dict[str, Any], Listener]:
        """A turn that keeps the rules, as it is on the wire: its response, and who listened."""
        listener = Listener()
        request = self.request(**changes)
        response = await self.client.run_turn(request, listener.callbacks)
        told = msgspec.json.decode(msgspec.json.encode(response))
        ids = (request.external_session_id, request.external_run_id)
        check_events(listener.told, *ids, prompt=request.prompt, key=request.harness_session_id)
        check_response(told, listener.told)
        return told, listener


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + "}"
    return json.dumps(value)
